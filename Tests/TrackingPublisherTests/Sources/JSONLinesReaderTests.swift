import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct JSONLinesReaderTests {
    /// A Feature as the protocol has it.
    static func feature(_ time: Int) -> String {
        """
        {"type":"Feature","geometry":{"type":"Point","coordinates":[-8.62,52.65]},"properties":{"time":\(time),\
        "stream":"0f8fad5b-d9cb-469f-a165-70867728950e","seq":7,"tripId":"t1","mode":"ACTIVE","source":"network","speed":3.5}}
        """
    }

    private func read(_ text: String) -> [SourceEvent] {
        var reader = JSONLinesReader()
        return reader.append(Array(text.utf8)[...]) + reader.finish()
    }

    @Test func oneFeatureALineIsAFixWithoutItsOldNumber() throws {
        let fixes = self.read("\(Self.feature(1_700_000_000))\r\n\n  \n\u{1E}\(Self.feature(1_700_000_001))").fixes
        #expect(fixes.map(\.time.seconds) == [1_700_000_000, 1_700_000_001])
        let fix = try #require(fixes.first)
        #expect(fix.coordinate == Coordinate(latitude: 52.65, longitude: -8.62) && fix.speed == 3.5)
        #expect(fix.seq == nil && fix.stream == nil && fix.tripID == nil && fix.mode == nil && fix.source == .network)
    }

    @Test func anInvalidLineIsReportedByItsNumberAndTheNextOneIsRead() {
        let events = self.read(
            "\(Self.feature(1))\n{}\n\(String(repeating: "x", count: 70_000))\n[\n\(Self.feature(2))\n")
        #expect(events.count == 5 && events.fixes.count == 2)
        let refused = events.compactMap { if case .badInput(let text) = $0 { text } else { nil } }
        #expect(refused.map { $0.prefix(6) } == ["line 2", "line 3", "line 4"])
        #expect(refused[1] == "line 3 is longer than 65536 bytes")
    }
}
