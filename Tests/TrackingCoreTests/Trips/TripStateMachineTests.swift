import Testing

@testable import TrackingCore

@Suite struct TripStateMachineTests {
    @Test func aTripSurvivesARestartMemberByMember() throws {
        var talk = TripConversation()
        _ = try talk.start("bicycle", at: 0)
        for second in 1...100 {
            var fix = Location.fix(north: Double(second) * 5, at: Double(second), speed: 5, accuracy: 4)
            fix.extra = Array(#"{"a":1}"#.utf8)
            _ = try talk.fix(fix, at: Double(second))
        }
        let before = try #require(talk.machine.status(at: .at(100)))
        let state = try #require(talk.machine.encoded(at: .at(100)))
        var restored = TripStateMachine(seed: 9)
        try restored.restore(state, at: .at(100))
        #expect(restored.status(at: .at(100)) == before)
        #expect(restored.encoded(at: .at(100)) == state)
        #expect(before.startLocation?.extra == nil)
        #expect(before.distance.rounded() == 495)
        #expect(try MessageCodec.decodeTrip(MessageCodec.encode(before)) == before)
    }

    @Test func theTimeBetweenCountsUnlessTheClockWasSetBack() throws {
        var talk = TripConversation()
        _ = try talk.start("car", at: 0)
        let state = try #require(talk.machine.encoded(at: .at(50)))
        var later = TripStateMachine(seed: 9)
        // The monotonic clock restarts with the device.
        let wall = Moment.at(80).wall
        try later.restore(state, at: Moment(now: MonotonicTime(.seconds(3)), wall: wall))
        #expect(later.status(at: Moment(now: MonotonicTime(.seconds(5)), wall: wall))?.duration == 82)
        var unset = TripStateMachine(seed: 9)
        try unset.restore(state, at: Moment(now: MonotonicTime(.seconds(3)), wall: UnixTime(3)))
        #expect(unset.status(at: Moment(now: MonotonicTime(.seconds(5)), wall: UnixTime(5)))?.duration == 52)
    }

    /// A trip that began in 1970, on a device whose clock was not set.
    private func unset(_ seconds: Double) -> Moment {
        Moment(now: MonotonicTime(.seconds(seconds)), wall: UnixTime(seconds))
    }

    @Test func aTripThatBeganBeforeTheClockWasSetBeginsWhenItDid() throws {
        let stream = try #require(StreamID("s"))
        var machine = TripStateMachine(seed: 1)
        _ = try machine.start(TripMode("car"), at: self.unset(10), next: RecordName(stream: stream, seq: 1))
        #expect(machine.status(at: self.unset(30))?.start == UnixTime(10))
        let now = Moment.at(60)
        #expect(machine.status(at: now)?.start == now.wall.advanced(by: .seconds(-50)))
        let ended = try machine.stop(at: now, next: RecordName(stream: stream, seq: 2)).trip
        #expect(ended.start == now.wall.advanced(by: .seconds(-50)) && ended.duration == 50)
    }

    @Test func theTimeBeforeTheClockWasSetIsNoneThatPassed() throws {
        let stream = try #require(StreamID("s"))
        var machine = TripStateMachine(seed: 1)
        _ = try machine.start(TripMode("car"), at: self.unset(10), next: RecordName(stream: stream, seq: 1))
        let state = try #require(machine.encoded(at: self.unset(30)))
        var later = TripStateMachine(seed: 9)
        try later.restore(state, at: .at(5))
        #expect(later.status(at: .at(6))?.duration == 21)
        // Within 1970 the clock is consistent with itself.
        var unset = TripStateMachine(seed: 9)
        try unset.restore(state, at: self.unset(40))
        #expect(unset.status(at: self.unset(40))?.duration == 30)
    }

    @Test func anIdleMachineHasNothingToKeep() throws {
        #expect(TripStateMachine(seed: 1).encoded(at: .at(0)) == nil)
    }

    @Test(arguments: [
        "", "{}", #"{"trip":{},"wall":1}"#, #"{"trip":7,"wall":1}"#,
        #"{"trip":{"tripId":"a","mode":"car","state":"ENDED","start":1,"stream":"s","seq":1},"wall":1}"#,
        #"{"trip":{"tripId":"a","mode":"car","state":"ACTIVE","start":1,"stream":"s","seq":1}}"#,
    ])
    func aDamagedStateIsRefusedAndChangesNothing(text: String) throws {
        var machine = TripStateMachine(seed: 1)
        #expect(throws: TrackingError.self) { try machine.restore(Array(text.utf8), at: .at(0)) }
        #expect(machine.current == nil)
    }

    @Test func anAbsurdDurationDoesNoHarm() throws {
        let text =
            #"{"trip":{"tripId":"a","mode":"car","state":"ACTIVE","start":1,"duration":1e300,"stream":"s","seq":1},"wall":1}"#
        var machine = TripStateMachine(seed: 1)
        try machine.restore(Array(text.utf8), at: .at(0))
        #expect(machine.status(at: .at(1))?.duration ?? 0 > 1e10)
    }

    @Test(arguments: [("walk", true), ("hot-air balloon", true), ("", false), ("a\nb", false)])
    func aModeIsAWordOfOneTo64Bytes(text: String, isMode: Bool) {
        #expect(((try? TripMode(text)) != nil) == isMode)
        #expect((try? TripMode(String(repeating: "x", count: 64))) != nil)
        #expect((try? TripMode(String(repeating: "x", count: 65))) == nil)
    }

    @Test func theKnownModesAreModes() throws {
        for mode in TripMode.known { #expect(try TripMode(mode).rawValue == mode) }
        #expect(Set(TripMode.known).isSuperset(of: ["walk", "run", "bicycle", "car", "boat", "scooter"]))
    }

    @Test func changesBecomeEventsWithoutPlaces() throws {
        var talk = TripConversation()
        _ = try talk.start("car", at: 0)
        _ = try talk.stop(at: 9)
        let id = try #require(talk.versions.first).id
        #expect(talk.versions.allSatisfy { $0.id == id })
        #expect(
            TripStateMachine.Change.started(talk.versions[0]).happening
                == Happening(.tripStarted, ["tripId": .text(id), "mode": .text("car")]))
        #expect(
            TripStateMachine.Change.ended(talk.versions[1]).happening?.detail["endedBy"] == .text("user"))
        #expect(TripStateMachine.Change.progressed(talk.versions[0]).happening == nil)
    }

    @Test func aTripDoesNotEndBeforeItBegan() throws {
        var machine = TripStateMachine(seed: 1)
        let name = RecordName(stream: try #require(StreamID("s")), seq: 1)
        _ = try machine.start(TripMode("car"), at: .at(1000), next: name)
        let ended = try machine.stop(
            at: Moment(now: Moment.at(1060).now, wall: UnixTime(5)), next: name)
        #expect(ended.trip.end == ended.trip.start)
        #expect(ended.trip.duration == 60)
    }

    /// For any drive with any outliers and restarts, the distance is the sum of the distances between consecutive
    /// accepted points.
    @Test(arguments: UInt64(1)...6) func theDistanceIsThatOfThePointsThatCount(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        var talk = TripConversation()
        _ = try talk.start("car", at: 0)
        var expected = 0.0
        var last: Coordinate?
        var north = 0.0
        for second in 1...400 {
            north += Double.random(in: -5...30, using: &generator)
            let accuracy = Bool.random(using: &generator) ? Double.random(in: 1...400, using: &generator) : nil
            let fix = Location.fix(north: north, at: Double(second), accuracy: accuracy)
            _ = try talk.fix(fix, at: Double(second))
            if (accuracy ?? 0) < 200 {
                expected += last.map { $0.distance(to: fix.coordinate).value } ?? 0
                last = fix.coordinate
            }
            if second % 97 == 0 { try talk.restart(at: Double(second), until: Double(second)) }
        }
        let trip = try #require(talk.machine.status(at: .at(400)))
        #expect(abs(trip.distance - expected) < 0.01)
        #expect(trip.duration == 400)
    }
}
