import Foundation
import Testing

@testable import GodwitOptions

/// Standard error without a reader, simulated by a pipe.
@Suite(.timeLimit(.minutes(5))) struct ErrorOutputTests {
    private let ends: (read: Int32, write: Int32)

    init() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        self.ends = (ends[0], ends[1])
    }

    /// The lines written until the writing end is closed.
    private func readAll() -> [Substring] {
        close(self.ends.write)
        defer { close(self.ends.read) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(self.ends.read, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }

    @Test func linesAreWrittenInOrder() {
        let output = ErrorOutput(descriptor: self.ends.write)
        for number in 0..<500 { output.write("line \(number)\n") }
        output.flush(within: .seconds(30))
        #expect(self.readAll() == (0..<500).map { "line \($0)" })
    }

    @Test func heldLinesAreWrittenAfterTheRelease() {
        let output = ErrorOutput(descriptor: self.ends.write)
        output.write("before\n")
        output.flush(within: .seconds(30))
        output.hold()
        #expect(output.held == nil)
        for number in 1...3 { output.write("line \(number)\n") }
        output.flush(within: .seconds(30))
        #expect(output.held?.count == 3 && output.held?.newest == "line 3\n")
        var waiting: Int32 = 0
        #expect(ioctl(self.ends.read, UInt(FIONREAD), &waiting) == 0 && waiting == 7, "nothing was written")
        output.release()
        output.write("after\n")
        output.flush(within: .seconds(30))
        #expect(output.held == nil)
        #expect(self.readAll() == ["before", "line 1", "line 2", "line 3", "after"])
    }

    @Test func nobodyWaitsForAReaderAndWhatIsLostIsCounted() async {
        let output = ErrorOutput(descriptor: self.ends.write)
        let text = String(repeating: "x", count: 1_000)
        for number in 0..<5_000 { output.write("\(number) \(text)\n") }
        let before = ContinuousClock.now
        output.flush(within: .milliseconds(50))
        #expect(before.duration(to: .now) < .seconds(10), "the end does not wait for a reader")
        // Somebody reads after all.
        async let reading = self.reading()
        output.flush(within: .seconds(30))
        output.write("last\n")
        output.flush(within: .seconds(30))
        let lines = await reading
        #expect(lines.last == "last")
        func numbers(_ lines: [Substring]) -> [Int] { lines.compactMap { Int($0.prefix { $0 != " " }) } }
        let lost = numbers(lines.filter { $0.contains("were lost here") }).reduce(0, +)
        let read = numbers(lines.filter { $0.hasSuffix("x") })
        #expect(lost > 0 && read.count + lost == 5_000)
        #expect(read.suffix(100) == Array(4_900..<5_000))
    }

    /// Reads lines up to the line `last`.
    private func reading() async -> [Substring] {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !text.hasSuffix("last\n") {
            let count = read(self.ends.read, &buffer, buffer.count)
            guard count > 0 else { break }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        close(self.ends.read)
        close(self.ends.write)
        return text.split(separator: "\n")
    }

    @Test func aClosedReaderIsNoReasonToEnd() {
        signal(SIGPIPE, SIG_IGN)
        close(self.ends.read)
        let output = ErrorOutput(descriptor: self.ends.write)
        for number in 0..<10 { output.write("line \(number)\n") }
        output.flush(within: .seconds(30))
        close(self.ends.write)
    }
}
