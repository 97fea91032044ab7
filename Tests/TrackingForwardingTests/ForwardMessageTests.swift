import Testing
import TrackingCore
import TrackingSinks

@testable import TrackingForwarding
@testable import TrackingMQTT

/// The messages to recorders at another broker, and the meaning of the broker's answers.
@Suite struct ForwardMessageTests {
    private static func point(_ seq: UInt64?, of stream: String?, at second: Double) throws -> Location {
        let place = try #require(Coordinate(latitude: 52.66, longitude: -8.63))
        var point = Location(coordinate: place, time: UnixTime(1_790_000_000 + second))
        (point.stream, point.seq) = (stream.flatMap { StreamID($0) }, seq)
        point.extra = Array(#"{"wifi":"home", "n":1.10}"#.utf8)
        return point
    }

    private static func batch(_ points: [Location]) throws -> ForwardBatch {
        ForwardBatch(trackable: try TrackableID("van/7"), points: points)
    }

    @Test func aMessageHasThePointsOfOneStream() throws {
        let points = [
            try Self.point(9, of: "a", at: 9), try Self.point(7, of: "a", at: 7), try Self.point(1, of: "b", at: 10),
            try Self.point(10, of: "a", at: 11),
        ]
        let message = try ForwardMessage(try Self.batch(points))
        #expect(message.count == 2 && TopicRoot.standard.path(message.topic) == "tracking/van=2F7/history")
        let decoded = try HistoryCodec.decode(message.payload)
        #expect(decoded.refused.isEmpty && decoded.batch.stream == StreamID("a"))
        #expect(decoded.batch.records.map(\.seq) == [7, 9], "in the order of the numbers")
        #expect(decoded.batch.oldest == 1 && decoded.batch.gone.isEmpty && decoded.batch.end == nil)
        #expect(decoded.batch.remaining == 2)
        #expect(try LocationCodec.decodeFeature(decoded.batch.records.payload(at: 1)).extra == points[0].extra)
        #expect(decoded.batch.id.utf8.count == 36)
        #expect(try ForwardMessage(try Self.batch(points)).payload == message.payload, "it is repeated unchanged")
        #expect(try ForwardMessage(try Self.batch(Array(points.dropFirst()))).payload != message.payload)
    }

    @Test func aPointWithoutANumberIsInAnUpdate() throws {
        let points = try (0..<100).map { try Self.point(nil, of: nil, at: Double(($0 + 1) % 100)) }
        let message = try ForwardMessage(try Self.batch(points + [try Self.point(1, of: "a", at: 200)]))
        #expect(message.count == 61 && TopicRoot.standard.path(message.topic) == "tracking/van=2F7")
        let update = try LocationCodec.decode(message.payload)
        #expect(update.kind == .actual && update.location.time == UnixTime(1_790_000_061))
        #expect(update.skipped.map(\.time) == points.prefix(60).map(\.time))
        let mixed = try ForwardMessage(
            try Self.batch([try Self.point(nil, of: nil, at: 1), try Self.point(1, of: "a", at: 2)]))
        #expect(mixed.count == 1)
    }

    @Test(arguments: [true, false]) func aMessageHasALimitedSize(isNumbered: Bool) throws {
        let points = try (1...1000).map { index in
            var point = try Self.point(isNumbered ? UInt64(index) : nil, of: isNumbered ? "a" : nil, at: Double(index))
            point.extra = Array("{\"rest\":\"\(String(repeating: "x", count: 4000))\"}".utf8)
            return point
        }
        let message = try ForwardMessage(try Self.batch(points))
        #expect(message.payload.count <= WireLimits.maximumPayloadBytes && message.count > 20)
        guard !isNumbered else { return }
        let update = try LocationCodec.decode(message.payload)
        #expect(update.skipped.count == message.count - 1, "no point is left out")
    }

    @Test func anAnswerOfABrokerIsRead() {
        #expect(ForwardAnswer(.success, on: "tracking/van/history").verdict == .acknowledged)
        let unread = ForwardAnswer(.noMatchingSubscribers, on: "tracking/van/history")
        #expect(unread.verdict == .failed && unread.reason.contains("godwit record"))
        #expect(ForwardAnswer(TrackingError(.payloadTooLarge, "a"), count: 3).verdict == .rejectedContent(count: 3))
        #expect(ForwardAnswer(TrackingError(.notAuthorized, "a"), count: 3).verdict == .failed)
        #expect(ForwardAnswer(TrackingError(.connectionLost, "a"), count: 3).verdict == .failed)
    }

    @Test func aPasswordFileNeedsAUser() throws {
        let error = #expect(throws: TrackingError.self) {
            _ = try MQTTSink(try ForwardAddress("mqtt://127.0.0.1#password-file=a")) { () throws(TrackingError) in "b" }
        }
        #expect(error?.message.contains("mqtts://USER@HOST") == true)
    }
}
