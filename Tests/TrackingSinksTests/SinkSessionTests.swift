import Testing
import TrackingCore

@testable import TrackingSinks

/// The answers of a sink that takes the place of a broker.
@Suite struct SinkSessionTests {
    private var session = SinkSession(root: .standard)
    private let van = try! TrackableID("van")  // a valid name

    private static func record(_ seq: UInt64, _ latitude: Double = 52, unset: Bool = false) throws -> SpoolRecord {
        let place = try #require(Coordinate(latitude: latitude, longitude: latitude == 0 ? 0 : -8))
        var point = Location(coordinate: place, time: UnixTime(1_790_000_000 + Double(seq)))
        point.seq = seq
        if unset { point.extra = Array(#"{"clock":"unset"}"#.utf8) }
        return SpoolRecord(seq: seq, time: point.time, kind: .point, payload: LocationCodec.encodeFeature(point))
    }

    private static func event(_ seq: UInt64) throws -> SpoolRecord {
        let json =
            #"{"id":"0b6f1f9e-5d0c-4c3e-9a44-6f6c6a7f2e10","stream":"s","seq":\#(seq),"time":1790000000,"kind":"PAUSED"}"#
        return SpoolRecord(seq: seq, time: UnixTime(1_790_000_000), kind: .event, payload: Array(json.utf8))
    }

    private mutating func publish(_ records: [SpoolRecord], _ token: TransportToken) throws -> [TransportEvent] {
        let batch = HistoryBatch(
            id: "b", stream: try #require(StreamID("s")), oldest: 1, records: SpoolRecords(records))
        return self.session.handle(
            .publish(
                OutgoingMessage(
                    topic: "tracking/van/history", payload: HistoryCodec.encode(batch), isRetained: false), token))
    }

    private static func reason(_ events: [TransportEvent]) -> TrackingError? {
        guard events.count == 1, case .published(_, let refusal) = events[0] else { return nil }
        return refusal
    }

    @Test mutating func aBatchIsAcknowledgedOnlyAfterAllItsPoints() throws {
        #expect(try self.publish([Self.record(1), Self.event(2), Self.record(3), Self.record(4)], 7) == [])
        #expect(try self.publish([Self.record(5)], 8) == [])
        let batch = try #require(self.session.next)
        #expect(batch.trackable == self.van && batch.points.map(\.seq) == [1, 3, 4])
        #expect(batch.points.map(\.stream?.rawValue) == ["s", "s", "s"])
        #expect(self.session.answered(ForwardAnswer(.acknowledged), count: 2) == [])
        #expect(self.session.next?.points.map(\.seq) == [4])
        #expect(self.session.answered(ForwardAnswer(.acknowledged), count: 1) == [.published(7, refusal: nil)])
        #expect(self.session.next?.points.map(\.seq) == [5])
        #expect(self.session.answered(ForwardAnswer(.acknowledged), count: 1) == [.published(8, refusal: nil)])
        #expect(self.session.next == nil)
    }

    @Test mutating func aFailureIsARefusalThatCanPass() throws {
        _ = try self.publish([Self.record(1)], 7)
        let refusal = Self.reason(self.session.answered(ForwardAnswer(.failed, reason: "away"), count: 1))
        #expect(refusal?.message == "away" && refusal?.isContentRefusal == false)
        #expect(self.session.next == nil, "the publisher sends the batch again")
    }

    @Test mutating func aRejectedBatchIsTestedWithARequestWithoutPoints() throws {
        #expect(try self.publish([], 1) == [.published(1, refusal: nil)], "nothing to send")
        _ = try self.publish([Self.record(1), Self.record(2)], 2)
        let refusal = Self.reason(self.session.answered(ForwardAnswer(.rejectedContent(count: 2)), count: 2))
        #expect(refusal?.isContentRefusal == true)
        #expect(try self.publish([], 3) == [])
        #expect(self.session.next == ForwardBatch(trackable: self.van, points: []))
        #expect(self.session.answered(ForwardAnswer(.acknowledged), count: 0) == [.published(3, refusal: nil)])
        #expect(try self.publish([], 4) == [.published(4, refusal: nil)])
    }

    @Test mutating func recordsWithoutAUsablePositionAreNotSent() throws {
        let records = [try Self.record(1, 0), try Self.record(2, unset: true), try Self.event(3)]
        #expect(try self.publish(records, 1) == [.published(1, refusal: nil)])
        #expect(try self.publish(records + [Self.record(4)], 2) == [])
        #expect(self.session.next?.points.map(\.seq) == [4])
    }

    @Test mutating func otherMessagesGoNowhere() throws {
        #expect(
            self.session.handle(.subscribe(["tracking/van/ack/+", "a"], 1)) == [.subscribed(1, refusals: [nil, nil])])
        let update = OutgoingMessage(topic: "tracking/van", payload: [1], isRetained: true)
        #expect(self.session.handle(.publish(update, 2)) == [.published(2, refusal: nil)])
        let presence = OutgoingMessage(topic: "tracking/van/publisher/box", payload: [2], isRetained: true)
        let own = IncomingMessage(topic: "tracking/van/publisher/box", payload: [2], isRetained: false)
        #expect(self.session.handle(.publish(presence, 3)) == [.published(3, refusal: nil), .received(own)])
        let bad = OutgoingMessage(topic: "tracking/van/history", payload: [1], isRetained: false)
        #expect(Self.reason(self.session.handle(.publish(bad, 4)))?.code == .invalidPayload)
        #expect(self.session.next == nil)
    }
}
