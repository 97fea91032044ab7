import Testing
import TrackingCore

@testable import TrackingSinks

/// The answers of a sink that takes the place of a broker.
@Suite struct SinkSessionTests {
    private var session = SinkSession(root: .standard)
    private var now = MonotonicTime(.zero)
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

    private mutating func publish(
        _ records: [SpoolRecord], _ token: TransportToken, of trackable: String = "van"
    ) throws -> [TransportEvent] {
        let batch = HistoryBatch(
            id: "b", stream: try #require(StreamID("s")), oldest: 1, records: SpoolRecords(records))
        return self.session.handle(
            .publish(
                OutgoingMessage(
                    topic: "tracking/\(trackable)/history", payload: HistoryCodec.encode(batch), isRetained: false),
                token), at: self.now)
    }

    /// The sink's answer to a request with all points of the next batch.
    private mutating func answered(
        _ verdict: ForwardAnswer.Verdict, reason: String = "", wait: Duration = .zero
    ) -> [TransportEvent] {
        let count = self.session.next?.points.count ?? 0
        return self.session.answered(
            ForwardAnswer(verdict, reason: reason, requestedWait: wait), count: count, at: self.now)
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
        #expect(self.session.answered(ForwardAnswer(.acknowledged), count: 2, at: self.now) == [])
        #expect(self.session.next?.points.map(\.seq) == [4])
        #expect(
            self.session.answered(ForwardAnswer(.acknowledged), count: 1, at: self.now) == [.published(7, refusal: nil)]
        )
        #expect(self.session.next?.points.map(\.seq) == [5])
        #expect(
            self.session.answered(ForwardAnswer(.acknowledged), count: 1, at: self.now) == [.published(8, refusal: nil)]
        )
        #expect(self.session.next == nil)
    }

    @Test mutating func aFailureIsARefusalThatCanPass() throws {
        _ = try self.publish([Self.record(1)], 7)
        let refusal = Self.reason(self.session.answered(ForwardAnswer(.failed, reason: "away"), count: 1, at: self.now))
        #expect(refusal?.message == "away" && refusal?.isContentRefusal == false)
        #expect(self.session.next == nil, "the publisher sends the batch again")
    }

    @Test mutating func aRejectedBatchIsTestedWithARequestWithoutPoints() throws {
        #expect(try self.publish([], 1) == [.published(1, refusal: nil)], "nothing to send")
        _ = try self.publish([Self.record(1), Self.record(2)], 2)
        let refusal = Self.reason(
            self.session.answered(ForwardAnswer(.rejectedContent(count: 2)), count: 2, at: self.now))
        #expect(refusal?.reasonCode == 0x83, "the publisher tests again before each division")
        #expect(try self.publish([], 3) == [])
        #expect(self.session.next == ForwardBatch(trackable: self.van, points: []))
        #expect(
            self.session.answered(ForwardAnswer(.acknowledged), count: 0, at: self.now) == [.published(3, refusal: nil)]
        )
        #expect(try self.publish([], 4) == [.published(4, refusal: nil)])
    }

    @Test mutating func theTestIsThatOfTheTrackableWithTheRejectedBatch() throws {
        _ = try self.publish([Self.record(1)], 1)
        _ = self.answered(.rejectedContent(count: 1))
        _ = try self.publish([Self.record(1)], 2, of: "bus")
        #expect(self.answered(.acknowledged) == [.published(2, refusal: nil)])
        #expect(try self.publish([], 3, of: "bus") == [.published(3, refusal: nil)])
        #expect(try self.publish([], 4) == [])
        _ = self.answered(.failed)
        #expect(try self.publish([], 5) == [], "a failed test is repeated")
    }

    @Test mutating func theFailureRemainsUntilTheTrackablesBatchIsAcknowledged() throws {
        #expect(self.session.failure == nil)
        _ = try self.publish([Self.record(1)], 1)
        _ = self.answered(.failed, reason: "away")
        _ = try self.publish([Self.record(1)], 2, of: "bus")
        _ = self.answered(.acknowledged)
        #expect(self.session.failure == "away")
        _ = try self.publish([Self.record(1)], 3)
        _ = self.answered(.acknowledged)
        #expect(self.session.failure == nil)
    }

    @Test mutating func whileTheSinkRequestsAWaitNothingIsSentAndEveryBatchHasAnAnswer() throws {
        _ = try self.publish([Self.record(1)], 1)
        _ = try self.publish([Self.record(1)], 2, of: "bus")
        let events = self.answered(.failed, reason: "busy", wait: .seconds(60))
        let tokens: [TransportToken] = events.compactMap {
            if case .published(let token, _?) = $0 { token } else { nil }
        }
        #expect(tokens == [1, 2] && self.session.next == nil)
        self.now = MonotonicTime(.seconds(59))
        let refused = try self.publish([Self.record(1)], 3)
        #expect(Self.reason(refused)?.message == "busy")
        #expect(try self.publish([Self.event(2)], 4) == [.published(4, refusal: nil)], "nothing to send")
        #expect(self.session.next == nil && self.session.failure == "busy")
        self.now = MonotonicTime(.seconds(60))
        #expect(try self.publish([Self.record(1)], 5) == [])
        #expect(self.session.next?.points.count == 1)
    }

    /// A server that begins to reject everything, after it accepted a test, gets the test again before each division.
    @Test mutating func aServerThatRejectsEverythingQuarantinesNothing() throws {
        let stream = try #require(StreamID("s"))
        var spool = SpoolStateMachine(
            configuration: .init(), streams: [], current: stream, seed: 1, now: self.now)
        var actions = spool.opened(now: self.now) + spool.appended(SeqSet([1...40]), of: stream, now: self.now)
        let end = MonotonicTime(.seconds(86_400))
        var (requests, token) = (0, TransportToken(0))
        while true {
            guard !actions.isEmpty else {
                guard let deadline = spool.nextDeadline, deadline <= end else { break }
                self.now = max(self.now, deadline)
                actions = spool.timerFired(now: self.now)
                continue
            }
            switch actions.removeFirst() {
            case .read(let query):
                let records = try query.seqs.ranges.joined().map { try Self.record($0) }
                actions += spool.loaded(SpoolRecords(records), missing: SeqSet(), by: query.number, now: self.now)
            case .publish(let batch):
                token += 1
                let message = OutgoingMessage(
                    topic: "tracking/van/history", payload: HistoryCodec.encode(batch), isRetained: false)
                var events = self.session.handle(.publish(message, token), at: self.now)
                if self.session.next != nil {
                    requests += 1
                    // The second request is the first test.
                    events = self.answered(requests == 2 ? .acknowledged : .rejectedContent(count: batch.records.count))
                }
                guard case .published(_, let refusal)? = events.first else { throw CancellationError() }
                actions += spool.answered(refusal, now: self.now)
            case .quarantine(_, let seq, _):
                Issue.record("\(seq) was quarantined after \(requests) requests")
                return
            default: break
            }
        }
        #expect(spool.queued == 40 && requests > 100)
    }

    @Test mutating func recordsWithoutAUsablePositionAreNotSent() throws {
        let records = [try Self.record(1, 0), try Self.record(2, unset: true), try Self.event(3)]
        #expect(try self.publish(records, 1) == [.published(1, refusal: nil)])
        #expect(try self.publish(records + [Self.record(4)], 2) == [])
        #expect(self.session.next?.points.map(\.seq) == [4])
    }

    @Test mutating func otherMessagesGoNowhere() throws {
        #expect(
            self.session.handle(.subscribe(["tracking/van/ack/+", "a"], 1), at: self.now)
                == [.subscribed(1, refusals: [nil, nil])])
        let update = OutgoingMessage(topic: "tracking/van", payload: [1], isRetained: true)
        #expect(self.session.handle(.publish(update, 2), at: self.now) == [.published(2, refusal: nil)])
        let presence = OutgoingMessage(topic: "tracking/van/publisher/box", payload: [2], isRetained: true)
        let own = IncomingMessage(topic: "tracking/van/publisher/box", payload: [2], isRetained: false)
        #expect(
            self.session.handle(.publish(presence, 3), at: self.now) == [.published(3, refusal: nil), .received(own)])
        let bad = OutgoingMessage(topic: "tracking/van/history", payload: [1], isRetained: false)
        #expect(Self.reason(self.session.handle(.publish(bad, 4), at: self.now))?.code == .invalidPayload)
        #expect(self.session.next == nil)
    }
}
