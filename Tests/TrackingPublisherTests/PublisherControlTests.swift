import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for control of a running publisher.
@Suite struct PublisherControlTests {
    private func switched(_ talk: inout PublisherConversation, isOn: Bool) -> [String] {
        var configuration = talk.machine.configuration
        configuration.isOn = isOn
        return talk.happened(.configure(configuration))
    }

    // MARK: - On and off

    @Test func offWithdrawsThePresenceAndSaysNothingMore() throws {
        var talk = try PublisherConversation.online()
        let said = self.switched(&talk, isOn: false)
        #expect(
            said == [
                "van/publisher/d1: cleared", "van/resolution: cleared", "_clients/d1: offline mine/0", "van is OFFLINE",
                "tell van BALANCED/10000/0 OFFLINE subscribers 0",
            ])
        _ = talk.receive("tracking/_clients/d1", talk.said["tracking/_clients/d1"] ?? [])
        #expect(try talk.fix(at: 20) == [])
        #expect(talk.subscriber("w1").filter { $0.contains(": ") } == [])
        #expect(talk.wait(.seconds(600)).filter { $0.contains(": ") } == [])
    }

    @Test func onComesBackAsTheLaterPublisher() throws {
        var talk = try PublisherConversation.online()
        _ = self.switched(&talk, isOn: false)
        _ = talk.wait(.seconds(30))
        let said = self.switched(&talk, isOn: true)
        #expect(said.contains("_clients/d1: online mine/0"))
        #expect(said.contains("van/publisher/d1: present mine/0 since 1032.0"))
        #expect(try talk.fix(at: 30).contains("fix 2 sent"))
    }

    @Test func whatIsOnItsWayWhenItIsSwitchedOffGoesAgain() throws {
        var talk = try PublisherConversation.online()
        #expect(try talk.fix(at: 10).contains("van: update 2"))
        _ = self.switched(&talk, isOn: false)
        // The broker's late answer does not apply to later messages.
        _ = talk.acked()
        #expect(self.switched(&talk, isOn: true).contains("van: update 2"))
    }

    @Test func offLastsThroughReconnects() throws {
        var talk = try PublisherConversation.online()
        _ = self.switched(&talk, isOn: false)
        _ = talk.acked()
        _ = talk.lose()
        _ = talk.connect(1)
        #expect(talk.granted().filter { $0.contains(": ") } == [])
        _ = self.switched(&talk, isOn: true)
        #expect(talk.said["tracking/van/publisher/d1"]?.isEmpty == false)
    }

    @Test func whereItWasNotConnectedThePresenceIsWithdrawnLater() throws {
        var talk = try PublisherConversation.online()
        _ = talk.lose()
        #expect(self.switched(&talk, isOn: false).filter { $0.contains(": ") } == [])
        _ = talk.connect(1)
        #expect(
            talk.granted().filter { $0.contains(": ") } == ["van/publisher/d1: cleared", "van/resolution: cleared"])
    }

    @Test func oneThatIsOffLeavesAtOnce() throws {
        var talk = try PublisherConversation.online()
        _ = self.switched(&talk, isOn: false)
        #expect(talk.happened(.stop(by: nil)).last == "close")
    }

    // MARK: - A fix now

    @Test func aReportIsTakenWhateverTheResolutionSays() throws {
        var talk = try PublisherConversation.online()
        #expect(talk.happened(.report(request: 1)) == ["sensor BALANCED/1000/0"])
        let said = try talk.fix(at: 1)
        #expect(said.contains("fix 2 sent"))
        #expect(said.contains("van: update 2"))
        #expect(said.contains("answer reported"))
        #expect(said.contains("sensor BALANCED/10000/0"))
        #expect(try talk.fix(at: 2).contains("fix 3 tooSoon"))
    }

    @Test func aReportIsTakenWhereTheCaptureFilterDropsEverything() throws {
        var talk = try PublisherConversation(
            [PublisherConversation.van()],
            configure: {
                $0.capture = try? CaptureStateMachine(
                    filter: CaptureFilter(minimumDistance: 1000), zones: PrivacyZones([]))
            })
        #expect(try talk.fix(at: 0).contains("fix 1 first"))
        #expect(try talk.fix(at: 1) == [])
        _ = talk.happened(.report(request: 1))
        #expect(try talk.fix(at: 2).contains("answer reported"))
    }

    @Test func aReportWithoutAFixFails() throws {
        var talk = try PublisherConversation.online()
        _ = talk.happened(.report(request: 1))
        #expect(talk.wait(.seconds(19)).filter { $0.hasPrefix("answer ") } == [])
        let said = talk.wait(.seconds(1))
        #expect(said.contains("answer inputUnreadable"))
        #expect(said.contains("sensor BALANCED/10000/0"))
        _ = self.switched(&talk, isOn: false)
        #expect(talk.happened(.report(request: 2)) == ["answer invalidConfiguration"])
    }

    // MARK: - Events

    /// An event of the device is published for every tracked trackable, however many there are.
    @Test func anEventOfTheDeviceIsPublishedForEachTrackable() throws {
        var talk = try PublisherConversation(try (0..<150).map { Trackable(try TrackableID("v\($0)")) })
        _ = talk.connect(0)
        _ = talk.granted()
        let said = talk.happened(.recordEvent(.sourceLost, [:]))
        #expect(said.filter { $0.hasSuffix("/event: SOURCE_LOST") }.count == 150)
    }

    // MARK: - Settings

    @Test func settingsComeIntoForceWhileItRuns() throws {
        var talk = try PublisherConversation.online()
        var configuration = talk.machine.configuration
        configuration.defaultResolution = try Resolution(
            accuracy: .low, desiredInterval: .seconds(60), minimumDisplacement: 0)
        configuration.limits.maximumCount = 7
        configuration.client = try ClientID("other")
        let said = talk.happened(.configure(configuration))
        #expect(
            said == [
                "limits 7", "sensor LOW/60000/0", "van/resolution: LOW/60000/0 ONLINE subscribers 0",
                "tell van LOW/60000/0 ONLINE subscribers 0",
            ])
        #expect(talk.machine.configuration.client.rawValue == "d1")
        #expect(talk.happened(.configure(configuration)) == [])
    }

    @Test func whatWasCapturedGoesOnWhereItsRulesChange() throws {
        let van = try PublisherConversation.van()
        func capture(_ distance: Meters, pauses: Bool) throws -> CaptureStateMachine {
            var configuration = CaptureStateMachine.Configuration()
            configuration.pause = pauses ? try PauseStateMachine(radius: 50, after: .seconds(3)) : nil
            return CaptureStateMachine(
                filter: try CaptureFilter(minimumDistance: distance), zones: try PrivacyZones([]),
                configuration: configuration)
        }
        let first = try capture(0, pauses: true)
        var talk = try PublisherConversation([van], configure: { $0.capture = first })
        for second in [0, 4] { _ = try talk.fix(at: Double(second)) }
        let events = { (talk: PublisherConversation) in talk.log.values.flatMap(\.values).count { $0.kind == .event } }
        let before = events(talk)
        #expect(talk.machine.capture?.isPaused == true)
        var configuration = talk.machine.configuration
        configuration.capture = try capture(1, pauses: true)
        _ = talk.happened(.configure(configuration))
        #expect(talk.machine.capture?.isPaused == true && events(talk) == before)
        configuration.capture = try capture(1, pauses: false)
        _ = talk.happened(.configure(configuration))
        #expect(events(talk) == before + 1, "RESUMED")
    }

    @Test func aTripGoesOnWhereItsRulesChange() throws {
        var talk = try PublisherConversation.online()
        _ = talk.happened(.trip(try TrackableID("van"), try TripMode("bus"), request: 1))
        var configuration = talk.machine.configuration
        configuration.trips = TripStateMachine(automatic: try TripMode("car"), seed: 0)
        _ = talk.happened(.configure(configuration))
        let trip = talk.machine.snapshot(at: Moment(now: talk.now, wall: UnixTime(1000))).trackables.first?.trip
        #expect(trip?.mode == "bus")
    }

    /// After a reconnect the trip is published again, with the current distance and duration.
    @Test func aTripThatIsShownAgainIsAsItIsNow() throws {
        var talk = try PublisherConversation.online()
        let van = try TrackableID("van")
        _ = talk.happened(.trip(van, try TripMode("bus"), request: 1))
        for second in [5, 10] {
            talk.now = MonotonicTime(.seconds(second))
            _ = try talk.fix(at: Double(second), metres: Double(second) * 20)
        }
        _ = talk.acked()
        _ = talk.lose()
        _ = talk.connect(1) + talk.granted() + talk.echoed() + talk.acked()
        let trip = try MessageCodec.decodeTrip(#require(talk.said["tracking/van/trip"])[...])
        #expect(trip.distance > 50 && trip.duration == 10, "\(trip)")
    }

    /// A trackable that another publisher owns is recorded by that publisher, its trips included.
    @Test func noTripOfWhatIsTakenOverIsRecorded() throws {
        var talk = try PublisherConversation.online()
        talk.isRemovalIgnored = true
        let van = try TrackableID("van")
        _ = talk.happened(.trip(van, try TripMode("bus"), request: 1))
        talk.now = MonotonicTime(.seconds(10))
        _ = try talk.fix(at: 10, metres: 200)
        _ = talk.publisher("d2", "theirs", since: 5000)
        let trips = { (talk: PublisherConversation) in talk.log.values.flatMap(\.values).count { $0.kind == .trip } }
        let before = trips(talk)
        #expect(talk.happened(.trip(van, nil, request: 2)) == ["answer takenOver"])
        #expect(talk.happened(.trip(van, try TripMode("taxi"), request: 3)) == ["answer takenOver"])
        _ = talk.wait(.seconds(600))
        #expect(trips(talk) == before)
    }

    /// A record that is being written when its trackable is removed retains its number when the trackable is tracked
    /// again.
    @Test(arguments: [true, false], [true, false])
    func aNumberIsGivenOutOnce(isWrittenBefore: Bool, isDiskFull: Bool) throws {
        var talk = try PublisherConversation.online()
        talk.isRemovalIgnored = true
        talk.isDiskBusy = true
        talk.isDiskFull = isDiskFull
        let van = try PublisherConversation.van()
        _ = try talk.fix(at: 10, metres: 100)
        _ = talk.happened(.remove(van.id))
        if isWrittenBefore { _ = talk.written() }
        _ = talk.happened(.add(van))
        _ = talk.written()
        (talk.isDiskBusy, talk.isDiskFull) = (false, false)
        #expect(try talk.fix(at: 20, metres: 200).contains { $0.hasPrefix("fix 3 ") })
        let records = talk.log.values.flatMap(\.values).sorted { $0.seq < $1.seq }
        #expect(records.map(\.seq) == (isDiskFull ? [3] : [2, 3]))
        #expect(records.map(\.time.seconds) == (isDiskFull ? [1020] : [1010, 1020]))
    }

    // MARK: - Commands

    private func commanding() throws -> PublisherConversation {
        var talk = try PublisherConversation(
            [PublisherConversation.van()], configure: { $0.takesCommands = true })
        _ = try talk.fix(at: 0)
        #expect(talk.connect(0).contains("subscribe van/command"))
        _ = talk.granted()
        _ = talk.echoed()
        _ = talk.acked()
        return talk
    }

    private let start = #"{"id":"c1","command":"START_TRIP","time":1000}"#

    @Test func withoutTheSettingNoCommandsAreReceived() throws {
        var talk = try PublisherConversation([PublisherConversation.van()])
        #expect(talk.connect(0).filter { $0.contains("command") } == [])
        #expect(talk.receive("tracking/van/command", self.start) == [])
    }

    @Test func refusedCommandsAreAskedForAgainWithGrowingWaits() throws {
        var talk = try self.commanding()
        _ = talk.lose()
        _ = talk.connect(1)
        let refused = talk.granted(refusing: TrackingError(.notAuthorized, "no"), only: "tracking/van/command")
        #expect(refused.filter { $0.hasPrefix("no commands") } == ["no commands of van (notAuthorized)"])
        #expect((talk.echoed() + talk.acked()).contains("van is ONLINE"))
        for wait in [1_000, 2_000, 4_000] {
            #expect(!talk.wait(.milliseconds(wait - 100)).contains { $0.hasPrefix("subscribe") })
            #expect(talk.wait(.milliseconds(100)).filter { $0.hasPrefix("subscribe") } == ["subscribe van/command"])
            #expect(talk.granted(refusing: TrackingError(.notAuthorized, "no")) == [], "told once")
        }
        #expect(talk.wait(.seconds(8)).contains("subscribe van/command"))
        #expect(talk.granted() == [])
        #expect(!talk.wait(.seconds(1_000)).contains("subscribe van/command"))
    }

    @Test func aCommandIsExecutedOnceAndRememberedInTheLog() throws {
        var talk = try self.commanding()
        #expect(talk.receive("tracking/van/command", self.start) == ["START_TRIP on van, answer to -"])
        #expect(talk.receive("tracking/van/command", self.start) == [])
        let gate = CommandGate(keeping: talk.kept[CommandIntake.key])
        var next = gate
        let command = try CommandCodec.decode(Array(self.start.utf8))
        #expect(next.consider(command, now: UnixTime(1000)) == .seen)
    }

    @Test func aLateRetainedOrInvalidCommandIsNotExecuted() throws {
        var talk = try self.commanding()
        let late = #"{"id":"c2","command":"REPORT","time":900}"#
        #expect(talk.receive("tracking/van/command", late) == [])
        #expect(talk.receive("tracking/van/command", self.start, retained: true) == [])
        #expect(talk.receive("tracking/van/command", "{}") == ["bad message on tracking/van/command"])
    }

    @Test func anAnswerGoesToTheEventsAndWhereItWasAskedForAlsoWhenOff() throws {
        var talk = try self.commanding()
        _ = self.switched(&talk, isOn: false)
        let received = ReceivedCommand(
            trackable: try TrackableID("van"), command: try CommandCodec.decode(Array(self.start.utf8)),
            responseTopic: "tracking/van/command/boss", correlationData: [1])
        let answer = CommandAnswer(id: "c1", outcome: .success([:]))
        let said = talk.happened(.answer(answer, to: received))
        #expect(said.count == 2)
        #expect(said.first?.hasPrefix("van/command/boss: {\"id\":\"c1\"") == true)
        #expect(said.last == "van/event: COMMAND")
    }

    /// Readers reject an event with a larger detail; the answer itself contains the result.
    @Test func aLargeResultIsLeftOutOfTheEvent() throws {
        var talk = try self.commanding()
        let received = ReceivedCommand(
            trackable: try TrackableID("van"), command: try CommandCodec.decode(Array(self.start.utf8)),
            responseTopic: "tracking/van/command/boss", correlationData: [1])
        let result = ["changes": JSONValue.text(String(repeating: "x", count: 20_000))]
        let said = talk.happened(.answer(CommandAnswer(id: "c1", outcome: .success(result)), to: received))
        #expect(said.first?.hasPrefix("van/command/boss: {\"id\":\"c1\"") == true)
        let event = try MessageCodec.decodeEvent((talk.said["tracking/van/event"] ?? [])[...])
        #expect(event.detail["resultOmitted"] == .flag(true) && event.detail["result"] == nil)
    }

    @Test func theAnswerToARemovalIsTheLastRecordOfTheStream() throws {
        var talk = try self.commanding()
        let van = try TrackableID("van")
        #expect(
            talk.happened(.remove(van)).contains(
                "unsubscribe van/publisher/+ van/subscriber/+ van/request/+ van/command"))
        let received = ReceivedCommand(trackable: van, command: try CommandCodec.decode(Array(self.start.utf8)))
        let answer = CommandAnswer(id: "c1", outcome: .success([:]))
        #expect(talk.happened(.answer(answer, to: received)) == ["van/event: COMMAND"])
        let event = try MessageCodec.decodeEvent((talk.said["tracking/van/event"] ?? [])[...])
        #expect(event.seq == 2)
        _ = talk.happened(.add(try PublisherConversation.van()))
        #expect(try talk.fix(at: 20).contains("fix 3 first"))
    }
}
