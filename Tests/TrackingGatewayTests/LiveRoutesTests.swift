import Foundation
import Hummingbird
import NIOCore
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing
import TrackingCore
import TrackingStore
import TrackingSubscriber
import TrackingTesting

@testable import TrackingGateway

/// The begin of the test's times. Earlier times would count as those of a clock that was not set.
private let start = 1_790_000_000.0

/// The live stream over HTTP, with a subscriber on the broker in memory and a publisher that a test plays.
@Suite(.timeLimit(.minutes(5))) struct LiveRoutesTests {
    private let van: TrackableID
    private let bike: TrackableID

    init() throws {
        self.van = try TrackableID("van")
        self.bike = try TrackableID("bike")
    }

    // MARK: - What is seen

    @Test func aStreamBeginsWithTheCurrentState() async throws {
        try await LiveScene.run { scene in
            try scene.move(self.van, 1)
            let first = try await scene.open()
            #expect(try await first.first { $0.name == "position" }.data.contains("\"seq\":1"))
            try scene.move(self.van, 2)
            #expect(try await first.first { $0.name == "position" }.data.contains("\"seq\":2"))
            let second = try await scene.open()
            #expect(try await second.first { $0.name == "position" }.data.contains("\"seq\":2"))
        }
    }

    @Test func aStreamPrefersPositionsOnTheRoad() async throws {
        try await LiveScene.run(preferring: .enhanced) { scene in
            let stream = try await scene.open()
            func next() async throws -> (seq: UInt64, road: String?) {
                let event = try await stream.first { $0.name == "position" }
                return (try scene.seq(event), try JSONValue(json: event.data.utf8)["enhanced"]?["road"]?.text)
            }
            try scene.move(self.van, 1)
            #expect(try await next() == (1, nil))
            try scene.enhance(self.van, 1)
            #expect(try await next() == (1, "Main Street"))
            try scene.move(self.van, 2)
            try scene.enhance(self.van, 2)
            #expect(try await next() == (2, "Main Street"))
            try scene.move(self.van, 3)
            #expect(try await next() == (3, nil))
        }
    }

    @Test func aStreamThatBrokeOffResumesWithoutAGap() async throws {
        try await LiveScene.run { scene in
            try scene.move(self.van, 1)
            let first = try await scene.open()
            let last = try await first.first { $0.name == "position" }.id
            first.close()
            let other = try await scene.open()
            for seq in 2...50 { try scene.move(self.van, UInt64(seq)) }
            _ = try await other.first { $0.data.contains("\"seq\":50") }
            let again = try await scene.open(headers: ["Last-Event-ID": last])
            var seqs: [UInt64] = []
            for await event in again.events where event.name == "position" {
                let seq = try scene.seq(event)
                seqs.append(seq)
                if seq == 50 { break }
            }
            #expect(seqs == Array(2...50))
        }
    }

    /// A page keeps its content if the stream resumes, and none of it for another user.
    @Test func helloSaysWhetherItGoesOnAndWhoReads() async throws {
        let van = self.van
        try await LiveScene.run { scene in
            func hello(_ stream: EventStream) async throws -> JSONValue {
                try JSONValue(json: try await stream.first { $0.name == "hello" }.data.utf8)
            }
            try scene.move(van, 1)
            let first = try await scene.open()
            let fresh = try await hello(first)
            #expect(fresh["resumed"] == .flag(false))
            let headers = ["Last-Event-ID": try await first.first { $0.name == "position" }.id]
            let again = try await hello(try await scene.open(headers: headers))
            #expect(again["resumed"] == .flag(true) && again["reader"] == fresh["reader"])
            let old = LiveEventID(epoch: 1, number: 9, time: UnixTime(start)).description
            #expect(try await hello(try await scene.open("?lastEventId=\(old)"))["resumed"] == .flag(false))
            #expect(try await hello(try await scene.open("?lastEventId=none"))["resumed"] == .flag(false))
            scene.caller.withLock { $0 = Caller(name: "test", reads: .only([van])) }
            let other = try await hello(try await scene.open(headers: headers))
            #expect(other["reader"]?.text != nil && other["reader"] != fresh["reader"])
        }
    }

    @Test func aGapIsFilledFromTheHistoryOrSaid() async throws {
        let old = LiveEventID(epoch: 1, number: 9, time: UnixTime(start + 1000)).description
        try await LiveScene.run { scene in
            try scene.move(self.van, 1)
            _ = try await scene.open().first { $0.name == "position" }
            let stream = try await scene.open("?lastEventId=\(old)")
            #expect(try await stream.first { $0.name != "hello" }.name == "reset")
        }
        let folder = TemporaryFolder()
        let history = try folder.history()
        // The gateway has received nothing of the bike since its start.
        for name in ["bike", "van"] { try await history.store(name, points: [939, 940, 1001], events: [939, 1002]) }
        try await LiveScene.run(history: history) { scene in
            try scene.move(self.van, 1)
            _ = try await scene.open().first { $0.name == "position" }
            let stream = try await scene.open("?lastEventId=\(old)")
            var delivered: [String] = []
            // The reader may still show positions that were cleared during the outage.
            #expect(try await stream.first { $0.name != "hello" }.name == "reset")
            for await event in stream.events {
                let value = try JSONValue(json: event.data.utf8)
                let isLate = value["late"] == .flag(true)
                #expect(isLate == event.id.isEmpty, "\(event.data)")
                let time = value["time"] ?? value["location"]?["properties"]?["time"]
                delivered.append("\(value["trackable"]?.text ?? "?") \(event.name) \((time?.count ?? 0) % Int(start))")
                if event.name == "position", !isLate { break }
            }
            let gap = ["bike", "van"].flatMap { ["\($0) position 940", "\($0) position 1001", "\($0) event 1002"] }
            #expect(
                delivered.filter { !$0.contains(" presence ") && !$0.contains(" state ") } == gap + ["van position 1"])
        }
        try await history.close()
    }

    /// The history has every update until the hub is subscribed again. If it never is, the stream gets a reset.
    @Test func aGapEndsWhenTheHubIsSubscribedAgain() async throws {
        let folder = TemporaryFolder()
        let history = try folder.history()
        try await history.store("van", points: [1001], events: [])
        let everything = LiveSelection(.everything, reads: .all)
        var reader = GapReader(since: UnixTime(start + 1000), selection: everything, history: history) {
            (try? await history.store("bike", points: [1002], events: [])) != nil
        }
        let first = try #require(await reader.next())
        #expect(String(buffer: first).contains(#""trackable":"bike","late":true"#))
        #expect(String(buffer: try #require(await reader.next())).contains(#""trackable":"van","late":true"#))
        #expect(await reader.next() == nil)
        var deaf = GapReader(since: UnixTime(start + 1000), selection: everything, history: history) { false }
        #expect(await deaf.next() == LiveFrame.stream("reset", [:]))
        #expect(await deaf.next() == nil)
        let half = LiveSelection(.everything, reads: .only([self.van]))
        var narrow = GapReader(since: UnixTime(start + 1000), selection: half, history: history) { true }
        #expect(String(buffer: try #require(await narrow.next())).contains(#""trackable":"van""#))
        #expect(await narrow.next() == nil)
        try await history.close()
    }

    /// At the gateway's return, the broker retains only the bike's position. The history has the van's position, and
    /// neither has the bus's.
    @Test(.timeLimit(.minutes(5)), arguments: [true, false])
    func trackablesWithoutBrokerOrHistoryDataAreForgotten(hasHistory: Bool) async throws {
        let folder = TemporaryFolder()
        let history = hasHistory ? try folder.history() : nil
        try await history?.store("van", points: [1], events: [])
        let (events, delivered) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let hub = LiveHub(events: events, history: history) { _, _ in }
        let bus = try TrackableID("bus")
        let stream = try #require(
            hub.open(LiveSelection(.everything, reads: .all), for: Caller(name: "test", reads: .all), after: nil) {})
        let running = Task { await hub.run() }
        for id in [self.van, self.bike, bus] { delivered.yield(try Sample.location(id, 1, time: start)) }
        delivered.yield(.positionsKept([self.bike]))
        var cleared: Set<TrackableID> = []
        let expected: Set<TrackableID> = hasHistory ? [bus] : [bus, self.van]
        reading: while cleared != expected {
            switch await stream.next() {
            case .updates(let updates):
                cleared.formUnion(updates.filter { $0.kind == .position && $0.location == nil }.map(\.trackable))
            case .heartbeat, .cells: continue
            case .ended: break reading
            }
        }
        #expect(cleared == expected)
        #expect(Set(hub.liveState.positions().keys) == Set([self.van, self.bike, bus]).subtracting(expected))
        running.cancel()
        await running.value
        try await history?.close()
    }

    // MARK: - Who may

    @Test func aStreamHasOnlyReadableTrackables() async throws {
        let van = self.van
        try await LiveScene.run { scene in
            try scene.move(self.van, 1)
            try scene.move(self.bike, 2)
            _ = try await scene.open().first { $0.data.contains("bike") }
            scene.caller.withLock { $0 = Caller(name: "half", reads: .only([van])) }
            let stream = try await scene.open()
            _ = try await stream.first { $0.name == "position" }
            try scene.move(self.bike, 3)
            try scene.move(self.van, 4)
            let next = try await stream.first { $0.name == "position" }
            #expect(try scene.seq(next) == 4)
            #expect(try await scene.request("GET", "/api/v1/live?trackables=bike").status == 403)
            #expect(try await scene.request("GET", "/api/v1/live?bbox=1").status == 400)
            scene.caller.withLock { $0 = nil }
            #expect(try await scene.request("GET", "/api/v1/live").status == 401)
        }
    }

    @Test func aShareLinkEndsWithItsTime() async throws {
        let van = self.van
        try await LiveScene.run { scene in
            let now = scene.now
            scene.caller.withLock {
                $0 = Caller(
                    name: "share", reads: .only([van]), span: now..<now.advanced(by: .seconds(20)))
            }
            try scene.move(self.van, 1, time: now.seconds - 5)
            try scene.move(self.van, 2, time: now.seconds)
            let stream = try await scene.open()
            let position = try await stream.first { $0.name == "position" }
            #expect(try scene.seq(position) == 2)
            #expect(try await stream.first { $0.name == "end" }.data == #"{"reason":"expired"}"#)
            for await event in stream.events { Issue.record("event after the end: \(event.name)") }
        }
    }

    /// A person who got the link from somebody else can neither speed a device up nor slow it down.
    @Test func aShareLinkMayAskForItsOneResolutionOnly() async throws {
        let van = self.van
        try await LiveScene.run { scene in
            let now = scene.now
            scene.caller.withLock {
                $0 = Caller(name: "share", reads: .only([van]), span: now..<now.advanced(by: .seconds(600)))
            }
            try scene.move(self.van, 1, time: now.seconds)
            let stream = try await scene.open()
            let name = try await scene.name(stream)
            _ = try await stream.first { $0.name == "position" }
            func ask(_ accuracy: String, _ interval: Int, _ metres: String) async throws -> LoopbackHTTP.Answer {
                try await scene.request(
                    "POST", "/api/v1/trackables/van/resolution?stream=\(name)",
                    #"{"accuracy":"\#(accuracy)","desiredInterval":\#(interval),"minimumDisplacement":\#(metres)}"#)
            }
            for (accuracy, interval, metres) in [
                ("MINIMUM", 31_536_000_000, "1e308"), ("MAXIMUM", 0, "0"), ("HIGH", 2_000, "4.999"),
                ("HIGH", 2_001, "5"), ("BALANCED", 2_000, "5"),
            ] {
                let answer = try await ask(accuracy, interval, metres)
                #expect(answer.status == 403, "\(accuracy)/\(interval)/\(metres)")
                #expect(answer.text.contains("accuracy HIGH, desiredInterval 2000, minimumDisplacement 5"))
            }
            #expect(!scene.isPresent, "nothing is asked for yet")
            #expect(try await ask("HIGH", 2_000, "5").status == 204)
            try await scene.isAsked(2_000)
            #expect(try await scene.request("DELETE", "/api/v1/trackables/van/resolution?stream=\(name)").status == 204)
        }
    }

    @Test func thePageOfAShareLinkAsksForThatResolution() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/TrackingGateway/Page/live.js")
        let shared = Resolution.ofShareLinks
        let members =
            #"accuracy: "\#(shared.accuracy.rawValue)", desiredInterval: \#(shared.desiredInterval.inMilliseconds), "#
            + "minimumDisplacement: \(Int(shared.minimumDisplacement.value))"
        #expect(try String(contentsOf: page, encoding: .utf8).contains("export const SHARED = { \(members) };"))
    }

    // MARK: - What is asked for

    @Test func aRequestHoldsAsLongAsItsStream() async throws {
        try await LiveScene.run { scene in
            try scene.move(self.van, 1)
            let (first, second) = (try await scene.open(), try await scene.open())
            let (one, two) = (try await scene.name(first), try await scene.name(second))
            _ = try await first.first { $0.name == "position" }
            #expect(try await scene.ask("van", 10_000, one) == 204)
            try await scene.isAsked(10_000)
            #expect(scene.isPresent)
            #expect(try await scene.ask("van", 1_000, two) == 204)
            try await scene.isAsked(1_000)
            second.close()
            try await scene.isAsked(10_000)
            #expect(try await scene.request("DELETE", "/api/v1/trackables/van/resolution?stream=\(one)").status == 204)
            try await scene.isAsked(nil)
            #expect(!scene.isPresent)
        }
    }

    @Test func aRequestIsRefusedWithItsReason() async throws {
        let van = self.van
        try await LiveScene.run { scene in
            try scene.move(self.van, 1)
            let stream = try await scene.open()
            let name = try await scene.name(stream)
            _ = try await stream.first { $0.name == "position" }
            #expect(try await scene.ask("van", 1_000, "nobody") == 409)
            #expect(try await scene.ask("ghost", 1_000, name) == 404)
            #expect(try await scene.ask("van", -1, name) == 400)
            #expect(try await scene.ask("va%zz", 1, name) == 400)
            let misspelled = try await scene.request(
                "POST", "/api/v1/trackables/van/resolution?stream=\(name)",
                #"{"accuracy":"HIGH","desiredInterval":1000,"minimumDisplacement":1,"interval":5}"#)
            #expect(misspelled.status == 400)
            scene.caller.withLock { $0 = Caller(name: "other", reads: .only([van])) }
            #expect(try await scene.ask("van", 1_000, name) == 409)
            #expect(try await scene.ask("bike", 1_000, name) == 403)
        }
    }
}

extension TemporaryFolder {
    fileprivate func history() throws -> SQLiteHistoryStore {
        try SQLiteHistoryStore(path: self.url.appending(path: "history.sqlite").path())
    }
}

extension HistoryStore {
    /// Stores points and events of these times.
    fileprivate func store(_ name: String, points: [Double], events: [Double]) async throws {
        let stream = try #require(StreamID("one"))
        let place = try #require(Coordinate(latitude: 1, longitude: 1))
        var recording = Recording(of: try TrackableID(name), at: UnixTime(start + 2000))
        recording.points = points.map { time in
            var point = Location(coordinate: place, time: UnixTime(start + time))
            (point.stream, point.seq) = (stream, UInt64(time))
            return point
        }
        recording.events = events.map { time in
            let event = TrackingEvent(
                id: "e\(time)", stream: stream, seq: UInt64(time) + 10_000, time: UnixTime(start + time),
                kind: .lowBattery)
            return RecordedDocument(event, json: MessageCodec.encode(event))
        }
        var batch = RecordingBatch()
        batch.recordings = [recording]
        _ = try await self.store(batch)
    }
}
