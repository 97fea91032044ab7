import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct LineSplitterTests {
    private func lines(_ pieces: [ArraySlice<UInt8>]) -> [LineSplitter.Line] {
        var splitter = LineSplitter()
        return pieces.flatMap { splitter.append($0) } + (splitter.finish().map { [$0] } ?? [])
    }

    private func text(_ text: String, _ number: Int) -> LineSplitter.Line {
        .text(Array(text.utf8)[...], number: number)
    }

    @Test func linesEndWithAnyLineEnd() {
        let lines = self.lines([Array("one\r\ntwo\n\nfour".utf8)[...]])
        #expect(lines == [self.text("one", 1), self.text("two", 2), self.text("", 3), self.text("four", 4)])
        let old = self.lines([Array("one\r\rthree\rfour".utf8)[...]])
        #expect(old == [self.text("one", 1), self.text("", 2), self.text("three", 3), self.text("four", 4)])
    }

    @Test(arguments: 1...50) func thePiecesDoNotMatter(seed: UInt64) {
        var dice = Dice(seed)
        let bytes = (0..<2000).map { _ in [UInt8](arrayLiteral: 10, 13, 65, 66, 67).randomElement(using: &dice) ?? 0 }
        #expect(self.lines(dice.pieces(of: bytes)) == self.lines([bytes[...]]))
    }

    @Test func aLineThatIsTooLongIsSkippedToItsEnd() {
        let long = [UInt8](repeating: 65, count: LineSplitter.limit + 1)
        #expect(
            self.lines([long[...], Array("more\nnext\n".utf8)[...]]) == [.tooLong(number: 1), self.text("next", 2)])
        #expect(self.lines([long[...]]) == [.tooLong(number: 1)])
        let longest = [UInt8](repeating: 65, count: LineSplitter.limit)
        #expect(self.lines([longest[...], [10]]) == [.text(longest[...], number: 1)])
    }

    @Test func whatIsSkippedIsNotKept() {
        var splitter = LineSplitter()
        let piece = [UInt8](repeating: 65, count: 10_000)
        for _ in 0..<1000 { #expect(splitter.append(piece[...]).isEmpty) }
        #expect(Mirror(reflecting: splitter).children.contains { ($0.value as? [UInt8])?.isEmpty == true })
    }
}
