import NIOCore
import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway

/// The first events of a new stream, and the events of a resumed one.
@Suite struct LiveHubStateTests {
    private let van: TrackableID
    private let bike: TrackableID
    private var state = LiveHubState(epoch: 7, count: 4)
    private let all = LiveSelection(.everything, reads: .all)

    init() throws {
        self.van = try TrackableID("van")
        self.bike = try TrackableID("bike")
    }

    private mutating func apply(_ event: SubscriberEvent, at time: Double = 1000) throws -> LiveUpdate {
        let update = self.state.happened(event, at: UnixTime(time))
        return try #require(update)
    }

    private func id(_ number: UInt64, epoch: UInt64 = 7, at time: Double = 1000) -> LiveEventID {
        LiveEventID(epoch: epoch, number: number, time: UnixTime(time))
    }

    /// Random ids do not fill the memory: the trackables with the oldest updates are removed.
    @Test func trackablesThatAreMoreThanTheMostAreForgotten() throws {
        var state = LiveHubState(epoch: 7, trackables: 80)
        func move(_ name: String, _ seq: UInt64) throws {
            _ = state.happened(try Sample.location(try TrackableID(name), seq), at: UnixTime(1000))
        }
        let bus = try TrackableID("bus-0")
        let (old, kept, more) = (try TrackableID("old"), try TrackableID("kept"), try TrackableID("one-more"))
        try move("old", 1)
        try move("kept", 1)
        for number in 0..<78 { try move("bus-\(number)", 1) }
        #expect(state.trackables.count == 80 && state.knows(old))
        try move("kept", 2)
        try move("one-more", 1)
        #expect(state.trackables.count == 70 && state.positions.count == 70)
        #expect(!state.knows(old) && !state.knows(bus))
        #expect(state.knows(kept) && state.knows(more))
        for number in 0..<1_000 { try move("more-\(number)", 1) }
        #expect(state.trackables.count <= 80)
    }

    @Test mutating func thePresenceHasTheMetadata() throws {
        let presence = PublisherPresence(status: .present, lastSeen: nil, metadata: "bike 3")
        let produced = try self.apply(.presence(self.van, presence))
        #expect(try JSONValue(json: produced.payload)["metadata"] == .text("bike 3"))
        let known = try #require(self.state.known(self.van)?.members["presence"])
        #expect(try JSONValue(json: known)["metadata"] == .text("bike 3"))
    }

    /// A trackable with a present publisher is shown without a position, and also while the gateway is disconnected.
    @Test mutating func aPresentTrackableIsKnownWithoutAPosition() throws {
        func presence(_ status: PublisherPresence.Status) -> SubscriberEvent {
            .presence(self.van, PublisherPresence(status: status, lastSeen: nil))
        }
        _ = try self.apply(presence(.unknown))
        #expect(self.state.present == [])
        _ = try self.apply(presence(.present))
        _ = try self.apply(Sample.location(self.bike, 1))
        #expect(self.state.present == [self.van, self.bike])
        _ = try self.apply(presence(.unknown))
        #expect(self.state.present == [self.van, self.bike])
        _ = try self.apply(presence(.absent))
        #expect(self.state.present == [self.bike])
    }

    /// The trip is a part of the history, and does not replace the current trip.
    @Test mutating func aTripThatTheRecordingLaneBringsIsLate() throws {
        let stream = try #require(StreamID("one"))
        var trip = Trip(id: "now", mode: "car", start: UnixTime(900), stream: stream, seq: 9)
        _ = try self.apply(.trip(self.van, trip))
        (trip.id, trip.seq, trip.state, trip.end) = ("before", 5, .ended, UnixTime(990))
        let produced = try self.apply(.tripRecorded(self.van, trip))
        #expect(produced.kind == .trip)
        #expect(try JSONValue(json: produced.payload)["late"] == .flag(true))
        let known = try #require(self.state.known(self.van)?.members["trip"])
        #expect(try JSONValue(json: known)["tripId"] == .text("now"))
    }

    @Test mutating func anEndedResolutionIsNotKnown() throws {
        let inForce = ResolutionInForce(
            resolution: .standard, isNear: true, subscribers: 2, isLowBattery: false, state: .online, filter: .both,
            maximumSilence: .seconds(60))
        _ = try self.apply(.state(self.van, .online, nil))
        _ = try self.apply(.resolution(self.van, inForce))
        #expect(self.state.known(self.van)?.members.keys.sorted() == ["resolution", "state"])
        _ = try self.apply(.resolution(self.van, nil))
        #expect(self.state.known(self.van)?.members.keys.sorted() == ["state"])
    }

    /// The payload of another program's publisher is passed on unchanged, with several lines if it is pretty-printed
    /// JSON.
    @Test mutating func lineEndsWithinAPayloadDoNotEndTheData() throws {
        let payload = """
            {"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[-8,52]},"properties":{"time":3,"extra":{\r
              "kg": 5,\n\n  "note": "a\\nb"\n}}},"skippedLocations":[],"intermediateLocations":[],"type":"ACTUAL"}
            """
        let update = try LocationCodec.decode(Array(payload.utf8))
        let received = ReceivedUpdate(update: update, skipped: [], isLate: false, isRetained: false)
        let produced = try self.apply(.location(self.van, received))
        #expect(produced.text.hasSuffix("}\n\n") && !produced.text.contains("\r"))
        let lines = produced.text.dropLast(2).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3 && lines[2].hasPrefix("data: {"), "\(produced.text)")
        let load = try JSONValue(json: produced.payload)["location"]?["properties"]?["extra"]
        #expect(load == .object(["kg": .number(5), "note": .text("a\nb")]))
    }

    @Test mutating func anEventIsTheProtocolsPayloadWithItsTrackable() throws {
        let produced = try self.apply(try Sample.location(self.van, 3, skipped: [1, 2]), at: 1000.5)
        #expect(
            produced.text == """
                id: 0000000000000007-1-1000500
                event: position
                data: {"trackable":"van","location":{"type":"Feature","geometry":{"type":"Point","coordinates":[-8,52]},\
                "properties":{"time":3,"seq":3,"stream":"one"}},"skippedLocations":[{"type":"Feature","geometry":\
                {"type":"Point","coordinates":[-8,52]},"properties":{"time":1}},{"type":"Feature","geometry":{"type":"Point",\
                "coordinates":[-8,52]},"properties":{"time":2}}],"intermediateLocations":[],"type":"ACTUAL"}\n\n
                """)
        let state = try self.apply(.state(self.van, .online, nil))
        #expect(state.text.hasSuffix("event: state\ndata: {\"trackable\":\"van\",\"state\":\"ONLINE\"}\n\n"))
        let cleared = try self.apply(.resolution(self.van, nil))
        #expect(cleared.text.hasSuffix("event: resolution\ndata: {\"trackable\":\"van\"}\n\n"))
    }

    @Test mutating func anIdIsQuotedInNamesThatNeedIt() throws {
        let produced = try self.apply(.state(try TrackableID("a\"b"), .online, nil))
        #expect(produced.text.contains(#"{"trackable":"a\"b","state""#))
    }

    @Test mutating func aNewStreamGetsTheCurrentStateInOrder() throws {
        _ = try self.apply(.state(self.van, .online, nil))
        _ = try self.apply(try Sample.location(self.van, 1))
        _ = try self.apply(try Sample.location(self.bike, 1))
        _ = try self.apply(try Sample.location(self.van, 2))
        _ = try self.apply(try Sample.event(self.van, 3))
        _ = try self.apply(try Sample.location(self.van, 1, isLate: true))
        #expect(
            self.state.opening(self.all, after: nil).summary == "snapshot: van state 1, bike position 3, van position 4"
        )
        let only = LiveSelection(.these([self.bike]), reads: .all)
        #expect(self.state.opening(only, after: nil).summary == "snapshot: bike position 3")
        let readsVan = LiveSelection(.everything, reads: .only([self.van]))
        #expect(self.state.opening(readsVan, after: nil).summary == "snapshot: van state 1, van position 4")
    }

    @Test mutating func aStreamResumesWithoutAGapWhileEverythingIsKept() throws {
        for seq in 1...4 { _ = try self.apply(try Sample.location(seq == 2 ? self.bike : self.van, UInt64(seq))) }
        let text = { (opening: LiveHubState.Opening) in opening.summary }
        #expect(text(self.state.opening(self.all, after: self.id(2))) == "resumed: van position 3, van position 4")
        #expect(text(self.state.opening(self.all, after: self.id(4))) == "resumed: ")
        let only = LiveSelection(.these([self.bike]), reads: .all)
        #expect(text(self.state.opening(only, after: self.id(0))) == "resumed: bike position 2")
        // With one more update, the first is removed.
        _ = try self.apply(try Sample.location(self.van, 5))
        #expect(text(self.state.opening(only, after: self.id(1))) == "resumed: bike position 2")
        #expect(
            text(self.state.opening(only, after: self.id(0, at: 990))) == "gap since 990.0: bike position 2")
    }

    @Test mutating func aClearedPositionIsInNoStream() throws {
        var state = LiveHubState(epoch: 7)
        func apply(_ event: SubscriberEvent) -> LiveUpdate? { state.happened(event, at: UnixTime(1000)) }
        #expect(apply(.locationCleared(self.van)) == nil, "nothing is known of it")
        _ = apply(.state(self.van, .online, nil))
        _ = apply(try Sample.location(self.van, 1))
        _ = apply(try Sample.location(self.bike, 1))
        _ = apply(try Sample.event(self.van, 2))
        _ = apply(try Sample.location(self.van, 3))
        let cleared = try #require(apply(.locationCleared(self.van)))
        #expect(cleared.text.hasSuffix("event: position\ndata: {\"trackable\":\"van\"}\n\n"))
        _ = apply(try Sample.location(self.bike, 2))
        #expect(state.known(self.van)?.position == nil && state.known(self.van)?.members.keys.sorted() == ["state"])
        #expect(Array(state.positions.keys) == [self.bike])
        // Streams resume across removed updates: they get neither a gap nor a position.
        let resumed = [0, 1, 2, 3, 4, 5, 6, 7].map { state.opening(self.all, after: self.id($0)).summary }
        #expect(resumed[0] == "resumed: van state 1, bike position 3, van position 6, bike position 7")
        #expect(resumed[2] == "resumed: bike position 3, van position 6, bike position 7")
        #expect(resumed[4] == "resumed: van position 6, bike position 7" && resumed[4] == resumed[5])
        #expect(resumed[7] == "resumed: ")
        guard case .resumed(let updates) = state.opening(self.all, after: self.id(0)) else { return }
        #expect(updates.filter { $0.trackable == self.van }.allSatisfy { $0.location == nil })
        guard case .snapshot(let known) = state.opening(self.all, after: nil) else { return }
        #expect(known.filter { $0.trackable == self.van }.allSatisfy { !$0.text.contains("coordinates") })
        // A newer position starts again.
        _ = apply(try Sample.location(self.van, 9))
        #expect(state.known(self.van)?.position?.seq == 9)
    }

    @Test mutating func aReaderOfAPositionGetsItsClearing() throws {
        let box = LiveSelection(.box(try #require(GeoBox(south: 50, west: -10, north: 54, east: -6))), reads: .all)
        let share = LiveSelection(.everything, reads: .only([self.van]), span: UnixTime(100)..<UnixTime(200))
        let before = try self.apply(try Sample.location(self.van, 1, time: 101))
        var queue = LiveQueue()
        _ = queue.append(before)
        let cleared = try self.apply(.locationCleared(self.van))
        #expect(box.wants(cleared) && share.wants(cleared) && share.frame(of: cleared) == cleared.frame)
        for number in 0..<UInt64(LiveQueue.few) {
            let other = try self.apply(try Sample.location(self.bike, number + 1))
            if number == 0 { _ = queue.append(cleared) }
            _ = queue.append(other)
        }
        #expect(queue.takeAll().filter { $0.trackable == self.van } == [cleared])
    }

    @Test mutating func aClearedTripIsNotInResumedStreams() throws {
        var trip = Trip(id: "t1", mode: "car", start: UnixTime(1), stream: try #require(StreamID("one")), seq: 1)
        trip.startLocation = Location(
            coordinate: try #require(Coordinate(latitude: 52, longitude: -8)), time: UnixTime(1))
        _ = try self.apply(.trip(self.van, trip))
        _ = try self.apply(.trip(self.van, nil))
        guard case .resumed(let updates) = self.state.opening(self.all, after: self.id(0)) else { return }
        #expect(updates.map(\.summary) == ["van trip 2"] && !updates[0].text.contains("coordinates"))
    }

    @Test mutating func afterAnotherLifeOfTheGatewayAStreamBeginsAnew() throws {
        _ = try self.apply(try Sample.location(self.van, 1))
        for last in [self.id(1, epoch: 8, at: 900), self.id(2, at: 900)] {
            #expect(self.state.opening(self.all, after: last).summary == "anew since 900.0: van position 1")
        }
    }

    @Test mutating func aBoxHearsWhatIsInsideAndWhatLeaves() throws {
        let box = try #require(GeoBox(south: 50, west: -10, north: 54, east: -6))
        let selection = LiveSelection(.box(box), reads: .all)
        let inside = try self.apply(try Sample.location(self.van, 1))
        let leaving = try self.apply(try Sample.location(self.van, 2, latitude: 55))
        let outside = try self.apply(try Sample.location(self.van, 3, latitude: 56))
        let stateOutside = try self.apply(.state(self.van, .online, nil))
        #expect([inside, leaving, outside, stateOutside].map { selection.wants($0) } == [true, true, false, false])
        #expect(self.state.opening(selection, after: nil).summary == "snapshot: ")
        _ = try self.apply(try Sample.location(self.van, 4))
        #expect(self.state.opening(selection, after: nil).summary == "snapshot: van state 4, van position 5")
    }

    @Test mutating func aTrackableThatEntersABoxIsSentWithItsWholeState() throws {
        let box = LiveSelection(.box(try #require(GeoBox(south: 50, west: -10, north: 54, east: -6))), reads: .all)
        var state = LiveHubState(epoch: 7)
        func apply(_ event: SubscriberEvent) -> [LiveUpdate] {
            state.happened(event, at: UnixTime(1000)).map { state.delivered($0, to: box) } ?? []
        }
        func produced(_ event: SubscriberEvent) -> [String] { apply(event).map(\.summary) }
        #expect(produced(.state(self.van, .online, nil)) == [])
        let (away, next) = (try Sample.location(self.van, 1, latitude: 55), try Sample.location(self.van, 3))
        #expect(produced(away) == [])
        #expect(produced(.resolution(self.van, nil)) == [])
        let entering = apply(try Sample.location(self.van, 2))
        #expect(entering.map(\.summary) == ["van state 1", "van resolution 3", "van position 4"])
        // These events have no ids, so that a reader does not resume before them.
        #expect(entering.map { $0.text.hasPrefix("id: ") } == [false, false, true])
        #expect(entering[0].text == "event: state\ndata: {\"trackable\":\"van\",\"state\":\"ONLINE\"}\n\n")
        #expect(produced(next) == ["van position 5"])
        #expect(produced(.state(self.van, .stale, nil)) == ["van state 6"])
        #expect(
            state.opening(box, after: self.id(3)).summary
                == "resumed: van resolution 3, van position 4, van position 5, van state 6")
        // Without a box, no event is sent twice.
        let last = state.happened(try Sample.location(self.van, 9), at: UnixTime(1000))
        let update = try #require(last)
        #expect(state.delivered(update, to: self.all).map(\.summary) == ["van position 7"])
    }

    @Test mutating func aShareLinkHasNothingFromOutsideItsSpan() throws {
        let span = UnixTime(100)..<UnixTime(200)
        let share = LiveSelection(.everything, reads: .only([self.van]), span: span)
        let before = try self.apply(try Sample.location(self.van, 1, time: 99))
        let within = try self.apply(try Sample.location(self.van, 2, time: 101, skipped: [98, 100]))
        let after = try self.apply(try Sample.location(self.van, 3, time: 200))
        let event = try self.apply(try Sample.event(self.van, 4))
        let other = try self.apply(try Sample.location(self.bike, 1, time: 101))
        #expect([before, within, after, event, other].map { share.wants($0) } == [false, true, false, false, false])
        let frame = String(buffer: share.frame(of: within))
        #expect(frame.contains("\"time\":101") && !frame.contains("\"time\":98"))
    }

    @Test mutating func aShareLinkHidesTheExtraFieldsOfAPosition() throws {
        let place = try #require(Coordinate(latitude: 52, longitude: -8))
        var location = Location(coordinate: place, time: UnixTime(101))
        (location.batteryLevel, location.tripID, location.speed) = (0.5, "t1", 7)
        location.extra = Array(#"{"wifi":"home"}"#.utf8)
        let update = LocationUpdate(location: location, kind: .predicted)
        let received = ReceivedUpdate(update: update, skipped: [], isLate: false, isRetained: false)
        let produced = try self.apply(.location(self.van, received))
        let share = LiveSelection(.everything, reads: .all, span: UnixTime(100)..<UnixTime(200))
        let frame = String(buffer: share.frame(of: produced))
        for secret in ["wifi", "batteryLevel", "t1"] { #expect(!frame.contains(secret)) }
        #expect(frame.contains("PREDICTED") && frame.contains("\"speed\":7"))
        let whole = String(buffer: LiveSelection(.everything, reads: .all).frame(of: produced))
        #expect(whole.contains("wifi") && share.shown(location).extra == nil)
    }

    @Test mutating func aShareLinkHasTheRoadAndTheWayWithinItsSpan() throws {
        let place = try #require(Coordinate(latitude: 52, longitude: -8))
        let update = LocationUpdate(
            location: Location(coordinate: place, time: UnixTime(101)),
            intermediate: [99, 100].map { Location(coordinate: place, time: UnixTime($0)) },
            enhancement: Enhancement(confidence: .matched, road: "Main Street", way: 7, speedLimit: 13.9))
        let received = ReceivedUpdate(update: update, skipped: [], isLate: false, isRetained: false)
        let produced = try self.apply(.location(self.van, received))
        #expect(self.state.known(self.van)?.enhancement == update.enhancement)
        #expect(self.state.enhancements == [self.van: update.enhancement])
        let whole = String(buffer: LiveSelection(.everything, reads: .all).frame(of: produced))
        #expect(whole.contains(#""enhanced":{"road":"Main Street","way":7,"speedLimit":13.9,"confidence":"matched"}"#))
        #expect(whole.contains("\"time\":99"))
        let share = LiveSelection(.everything, reads: .all, span: UnixTime(100)..<UnixTime(200))
        let frame = String(buffer: share.frame(of: produced))
        #expect(frame.contains(#""enhanced":{"road":"Main Street","confidence":"matched"}"#), "\(frame)")
        #expect(frame.contains("\"time\":100") && !frame.contains("\"time\":99"))
        // A position without a road has none, also after one on the road.
        _ = try self.apply(try Sample.location(self.van, 9, time: 102))
        #expect(self.state.known(self.van)?.enhancement == nil)
    }

    /// A share link contains the destination and the time to arrival. It does not contain the other subscribers, the
    /// battery, or the distance, which could be that of a position from before the link.
    @Test mutating func aShareLinkHasOnlyTheIntervalAndTheDestinationOfTheResolution() throws {
        let inForce = ResolutionInForce(
            resolution: .standard, isNear: true, subscribers: 3, isLowBattery: true, state: .online, filter: .both,
            maximumSilence: .seconds(30),
            approach: Approach(
                destination: try #require(Coordinate(latitude: 52.5, longitude: -8.25)), distance: 4321,
                timeToArrival: .seconds(300)))
        let produced = try self.apply(.resolution(self.van, inForce))
        let share = LiveSelection(.everything, reads: .all, span: UnixTime(100)..<UnixTime(200))
        let frame = String(buffer: share.frame(of: produced))
        #expect(frame.hasPrefix("id: \(produced.id)\nevent: resolution\ndata: {\"trackable\":\"van\","))
        #expect(frame.contains(#""maximumSilence":30000"#) && frame.contains(#""desiredInterval""#))
        #expect(frame.contains(#""destination":[-8.25,52.5]"#) && frame.contains(#""timeToArrival":300"#))
        for secret in ["near", "subscribers", "lowBattery", "state", "filter", "distance"] {
            #expect(!frame.contains(secret))
        }
        #expect(!String(buffer: share.frame(of: produced.withoutID)).hasPrefix("id: "))
        #expect(String(buffer: LiveSelection(.everything, reads: .all).frame(of: produced)).contains("subscribers"))
    }

    /// Pages receive events, but not comments.
    @Test func aHeartbeatHasTheTime() {
        let frame = String(buffer: LiveFrame.heartbeat(self.id(7, at: 1000), canResume: true))
        #expect(frame == "id: \(self.id(7, at: 1000))\nevent: heartbeat\ndata: {\"now\":1000}\n\n")
    }

    @Test func anEventIdReadsWhatItWrites() throws {
        let id = LiveEventID(epoch: .max, number: .max, time: UnixTime(1_793_000_000.125))
        #expect(LiveEventID(id.description) == id)
        for text in ["", "1-2", "x-1-1", "1--1", "1-1-9007199254740993", String(repeating: "1", count: 99)] {
            #expect(LiveEventID(text) == nil)
        }
    }
}

/// The pending updates of a slow reader.
@Suite struct LiveQueueTests {
    @Test func beyondSomeOnlyTheNewestOfEachWaits() throws {
        var state = LiveHubState(epoch: 1)
        var queue = LiveQueue()
        let ids = try (0..<10).map { try TrackableID("t\($0)") }
        var last: [LiveUpdate] = []
        for seq in 1...UInt64(LiveQueue.few * 3) {
            let id = ids[Int(seq % 10)]
            let produced = state.happened(try Sample.location(id, seq), at: UnixTime(1))
            let update = try #require(produced)
            last = (last + [update]).suffix(10)
            let isTaken = queue.append(update)
            #expect(isTaken)
            #expect(queue.count <= LiveQueue.few)
        }
        let taken = queue.takeAll()
        #expect(Array(taken.suffix(10)) == last)
        #expect(taken.map(\.id.number) == taken.map(\.id.number).sorted())
        #expect(queue.count == 0)
    }

    /// The reader has to remove the earlier position, although a newer one follows.
    @Test func thatAPositionWasClearedWaitsThoughANewerOneDoes() throws {
        var state = LiveHubState(epoch: 1)
        var queue = LiveQueue()
        let (van, bike) = (try TrackableID("van"), try TrackableID("bike"))
        var events = [try Sample.location(van, 1), .locationCleared(van), try Sample.location(van, 2)]
        events += try (1...UInt64(LiveQueue.few)).map { try Sample.location(bike, $0) }
        for update in events.compactMap({ state.happened($0, at: UnixTime(1)) }) { _ = queue.append(update) }
        #expect(queue.takeAll().filter { $0.trackable == van }.map(\.id.number) == [2, 3])
    }

    @Test func eventsAreNotReplacedAndTooManyAreRejected() throws {
        var state = LiveHubState(epoch: 1)
        var queue = LiveQueue()
        let van = try TrackableID("van")
        var refused: Int?
        // The time of these updates is long ago, late or not.
        for seq in 1...UInt64(LiveQueue.maximum * 2 + 2) where refused == nil {
            let produced = state.happened(try Sample.event(van, seq), at: UnixTime(1000))
            let update = try #require(produced)
            if !queue.append(update) { refused = queue.count }
        }
        #expect(try #require(refused) > LiveQueue.maximum)
    }
}

/// The combined requests of all streams.
@Suite struct RequestPoolTests {
    private let van: TrackableID
    private let one: LiveStreamID
    private let two: LiveStreamID
    private var pool = RequestPool()

    init() throws {
        self.van = try TrackableID("van")
        self.one = try #require(LiveStreamID("one"))
        self.two = try #require(LiveStreamID("two"))
    }

    private func resolution(_ seconds: Int, _ accuracy: Resolution.Accuracy = .low) throws -> Resolution {
        try Resolution(accuracy: accuracy, desiredInterval: .seconds(seconds), minimumDisplacement: 0)
    }

    @Test mutating func theFinestOfAllIsAskedForAndOnlyWhereItChanges() throws {
        let (slow, slower) = (try self.resolution(10), try self.resolution(20))
        let fine = try self.resolution(5, .high)
        let changes = [
            self.pool.ask(slow, for: self.van, by: self.one), self.pool.ask(slower, for: self.van, by: self.two),
            self.pool.ask(fine, for: self.van, by: self.two), self.pool.drop(self.van, by: self.two),
            self.pool.drop(self.van, by: self.two),
        ]
        #expect(changes.map { $0?.resolution } == [slow, nil, fine, slow, nil])
        let last = self.pool.ended(self.one) + self.pool.ended(self.one)
        #expect(last == [RequestPool.Change(trackable: self.van, resolution: nil)])
    }

    @Test mutating func aStreamAsksForSoManyTrackablesAtMost() throws {
        for number in 0..<RequestPool.maximumTrackables {
            let id = try TrackableID("t\(number)")
            #expect(self.pool.hasRoom(for: id, of: self.one))
            _ = self.pool.ask(try self.resolution(1), for: id, by: self.one)
        }
        #expect(!self.pool.hasRoom(for: self.van, of: self.one))
        #expect(self.pool.hasRoom(for: try TrackableID("t0"), of: self.one))
        #expect(self.pool.hasRoom(for: self.van, of: self.two))
        let last = self.pool.ended(self.one)
        #expect(last.count == RequestPool.maximumTrackables)
    }
}

/// The query of the live stream.
@Suite struct LiveQueryTests {
    @Test func aListIsDecodedBeforeItIsSplit() throws {
        #expect(try LiveQuery("").wanted == .everything)
        let three = try LiveSelection.Wanted.these([TrackableID("a"), TrackableID("b"), TrackableID("c")])
        for list in ["a,b,c", "a%2Cb%2cc", "a%2Cb&trackables=c", "a,b&trackable=c"] {
            #expect(try LiveQuery("token=x&trackables=\(list)"[...]).wanted == three, "\(list)")
        }
        #expect(try LiveQuery("trackable=b%2Cc").wanted == .these([TrackableID("b,c")]))
        let box = try #require(GeoBox(south: 51, west: -9, north: 53, east: -7))
        #expect(try LiveQuery("bbox=-9,51,-7,53").wanted == .box(box))
        #expect(try LiveQuery("bbox=-9%2C51%2C-7%2C53&lastEventId=1-2-3000").last?.number == 2)
    }

    @Test(arguments: [
        "trackables=", "trackables=a&bbox=1,2,3,4", "bbox=1,2,3", "bbox=1,2,3,x", "bbox=0,10,0,5", "trackables=%zz",
        "track=a", "trackable=",
        "trackables=" + String(repeating: "a,", count: 1_001), "trackables=" + String(repeating: "a", count: 200),
    ])
    func anInvalidQueryIsRejected(_ query: String) {
        #expect(throws: (any Error).self) { try LiveQuery(query[...]) }
    }
}
