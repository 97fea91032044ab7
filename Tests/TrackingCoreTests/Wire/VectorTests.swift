import Foundation
import Testing
import TrackingCore

/// The vectors of `Tests/Vectors`, which the tests of the JavaScript client (`clients/js/test`) read too.
///
/// | file | an element of the list |
/// |---|---|
/// | `messages.json` | a `payload`, and the same message as this package writes it (`written`); `value` is that of the client |
/// | `bad-messages.json` | a payload that is rejected, with the code and the message of the error |
/// | `topics.json` | a path beneath the topic root, and its topic; a path without `kind` is no topic |
/// | `update-order.json` | the updates of one trackable in the order of their arrival, each with its verdict and its new points |
@Suite struct VectorTests {
    private struct Message: Decodable {
        let message: String
        let payload: String
        let written: String
    }

    private struct BadMessage: Decodable {
        let message: String
        let payload: String
        let code: String
        let error: String
    }

    private struct Path: Decodable {
        let path: String
        let kind: String?
        let trackable: String?
        let client: String?
    }

    private struct Update: Decodable {
        struct Point: Decodable {
            let time: Double
            let seq: UInt64?
            let stream: String?
        }

        let location: Point
        let skipped: [Point]
        let isOwners: Bool
        let verdict: String
        let new: [Double]
    }

    @Test func messagesAreReadAndWritten() throws {
        for vector in try Self.vectors("messages", Message.self) {
            let written = try Self.rewritten(vector.message, Array(vector.payload.utf8))
            #expect(String(decoding: written, as: UTF8.self) == vector.written, "\(vector.message): \(vector.payload)")
        }
    }

    @Test func badMessagesAreRejected() throws {
        for vector in try Self.vectors("bad-messages", BadMessage.self) {
            do throws(TrackingError) {
                _ = try Self.rewritten(vector.message, Array(vector.payload.utf8))
                Issue.record("accepted: \(vector.message): \(vector.payload)")
            } catch {
                #expect("\(error.code)" == vector.code)
                #expect(error.message == vector.error, "\(vector.message): \(vector.payload.prefix(200))")
            }
        }
    }

    @Test func topicsAreParsed() throws {
        for vector in try Self.vectors("topics", Path.self) {
            let topic = TopicRoot.standard.topic("tracking/" + vector.path)
            #expect(topic.map { "\($0)".prefix { $0 != "(" } } == vector.kind?[...], "\(vector.path)")
            #expect(topic?.trackable?.rawValue == vector.trackable)
            guard let topic else { continue }
            #expect(TopicRoot.standard.path(topic) == "tracking/" + vector.path)
            #expect(vector.client.map { vector.path.hasSuffix("/" + $0) } ?? true)
        }
    }

    @Test func updatesAreOrdered() throws {
        for (number, updates) in try Self.vectors("update-order", [Update].self).enumerated() {
            var order = UpdateOrder()
            for (index, vector) in updates.enumerated() {
                let update = LocationUpdate(
                    location: try Self.location(vector.location), skipped: try vector.skipped.map(Self.location))
                #expect("\(order.consider(update, isOwners: vector.isOwners))" == vector.verdict, "\(number), \(index)")
                let points = order.newSkipped(update).map { $0.seq.map { Double($0) } ?? $0.time.seconds }
                #expect(points == vector.new, "\(number), \(index)")
            }
        }
    }

    private static func location(_ point: Update.Point) throws -> Location {
        var location = Location(
            coordinate: try #require(Coordinate(latitude: 0, longitude: 0)), time: UnixTime(point.time))
        location.seq = point.seq
        location.stream = try point.stream.map { try #require(StreamID($0)) }
        return location
    }

    /// Decodes a message and encodes it again.
    private static func rewritten(_ message: String, _ payload: [UInt8]) throws(TrackingError) -> [UInt8] {
        switch message {
        case "presence": MessageCodec.encode(try MessageCodec.decodePresence(payload))
        case "liveness": MessageCodec.encode(try MessageCodec.decodeLiveness(payload))
        case "request": MessageCodec.encode(try MessageCodec.decodeRequest(payload))
        case "resolution": MessageCodec.encode(try MessageCodec.decodeResolution(payload))
        case "update": try LocationCodec.encode(LocationCodec.decode(payload))
        case "trip": MessageCodec.encode(try MessageCodec.decodeTrip(payload))
        case "event": MessageCodec.encode(try MessageCodec.decodeEvent(payload))
        case "journey": try MessageCodec.encode(MessageCodec.decodeJourney(payload))
        default: try MessageCodec.encode(MessageCodec.decodeEstimate(payload))
        }
    }

    private static func vectors<Vector: Decodable>(_ name: String, _: Vector.Type) throws -> [Vector] {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let vectors = try JSONDecoder().decode(
            [Vector].self, from: Data(contentsOf: tests.appendingPathComponent("Vectors/\(name).json")))
        #expect(vectors.count >= 20)
        return vectors
    }
}
