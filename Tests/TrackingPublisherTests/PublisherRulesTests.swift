import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for rules of docs/reference/resolution.md that involve several parts: one message per change, the clock, and
/// the end of a recording.
@Suite struct PublisherRulesTests {
    private let forbidden = TrackingError(.notAuthorized, "forbidden")

    private func resolution(_ seconds: Int) throws -> Resolution {
        try Resolution(accuracy: .balanced, desiredInterval: .seconds(seconds), minimumDisplacement: 0)
    }

    private func resolutions(_ said: [String]) -> [String] { said.filter { $0.hasPrefix("van/resolution: ") } }

    // MARK: - One change, one message

    @Test func aSubscriberWhoseRequestIsKnownChangesTheResolutionOnce() throws {
        var talk = try PublisherConversation.online()
        _ = talk.request("w1", interval: 500)
        #expect(self.resolutions(talk.subscriber("w1")) == ["van/resolution: HIGH/500/0 ONLINE subscribers 1"])
    }

    @Test func anotherDestinationAndOtherConstraintsAreOneChange() throws {
        let here = try #require(Coordinate(latitude: 0, longitude: 1))
        var talk = try PublisherConversation.online()
        let changed = try PublisherConversation.van {
            $0.destination = here
            $0.constraints = try ResolutionConstraints(
                resolutions: ResolutionSet(
                    farWithoutSubscriber: self.resolution(60), nearWithoutSubscriber: self.resolution(2)),
                proximityThreshold: ProximityThreshold(spatial: 100))
        }
        #expect(
            self.resolutions(talk.happened(.change(changed))) == [
                "van/resolution: BALANCED/2000/0 ONLINE subscribers 0 near"
            ])
    }

    /// A receiver that delivers a fix each second, of which one each ten seconds is wanted, and later one each
    /// second.
    @Test(arguments: [true, false]) func ofASourceThatCannotBeSlowedNoMoreIsRecordedThanIsAsked(thins: Bool) throws {
        var talk = try PublisherConversation(
            [PublisherConversation.van()],
            configure: {
                $0.capture = try? CaptureStateMachine(filter: CaptureFilter(), zones: PrivacyZones([]))
                $0.thinsFixes = thins
            })
        for second in 0...40 { _ = try talk.fix(at: Double(second) + (second == 20 ? -0.05 : 0)) }
        let points = talk.log.values.flatMap(\.values).map(\.time.seconds).sorted()
        #expect(points.count == (thins ? 5 : 41))
        if thins { #expect(points == [1000, 1010, 1019.95, 1030, 1040], "jitter is tolerated") }
        _ = talk.request("w1", interval: 1000)
        _ = talk.subscriber("w1")
        for second in 41...45 { _ = try talk.fix(at: Double(second)) }
        #expect(talk.log.values.flatMap(\.values).count == points.count + 5)
    }

    /// Only fixes 500 m apart are recorded, and the van moves 10 m a second.
    @Test func aRequestPassesTheCaptureFilterWhileItIsInForce() throws {
        var talk = try PublisherConversation.online(configure: {
            $0.capture = try? CaptureStateMachine(
                filter: CaptureFilter(significantChange: .only), zones: PrivacyZones([]))
        })
        func points(from begin: Int) throws -> Int {
            let before = talk.log.values.flatMap(\.values).count
            for second in begin..<begin + 5 { _ = try talk.fix(at: Double(second), metres: Double(10 * second)) }
            return talk.log.values.flatMap(\.values).count - before
        }
        #expect(try points(from: 0) == 0)
        _ = talk.request("w1", interval: 1000)
        #expect(self.resolutions(talk.subscriber("w1")) == ["van/resolution: HIGH/1000/0 ONLINE subscribers 1"])
        #expect(try points(from: 5) == 5)
        _ = talk.receive("tracking/van/subscriber/w1", "")
        #expect(try points(from: 10) == 0)
    }

    @Test func whatIsNotRecordedMayBeNearAllTheSame() throws {
        let there = try #require(Coordinate(latitude: 900 / 111_195.0, longitude: 1))
        let van = try PublisherConversation.van {
            $0.destination = there
            $0.constraints = try ResolutionConstraints(
                resolutions: ResolutionSet(
                    farWithoutSubscriber: self.resolution(60), nearWithoutSubscriber: self.resolution(2)),
                proximityThreshold: ProximityThreshold(spatial: 100))
        }
        var talk = try PublisherConversation(
            [van],
            configure: {
                $0.capture = try? CaptureStateMachine(
                    filter: CaptureFilter(significantChange: .only), zones: PrivacyZones([]))
            })
        #expect(try talk.fix(at: 0).contains("fix 1 first"))
        #expect(try talk.fix(at: 60, metres: 600).contains("fix 2 tooSoon") == false)
        let said = try talk.fix(at: 120, metres: 890)
        #expect(!said.contains { $0.hasPrefix("fix ") }, "290 m are not recorded")
        #expect(said.contains("tell van BALANCED/2000/0 OFFLINE subscribers 0 near"))
        #expect(said.contains("sensor BALANCED/2000/0"))
    }

    @Test func theResolutionInForceIsPublishedWhenAnyMemberOfItChanges() throws {
        var talk = try PublisherConversation.online()
        #expect(
            self.resolutions(talk.subscriber("w1")) == ["van/resolution: BALANCED/10000/0 ONLINE subscribers 1"])
        _ = talk.wait(.seconds(2)) + talk.acked() + talk.wait(.seconds(1))
        let either = try PublisherConversation.van { $0.filter = .either }
        #expect(self.resolutions(talk.happened(.change(either))).count == 1)
        _ = talk.wait(.seconds(1))
        let silent = try PublisherConversation.van {
            $0.filter = .either
            $0.maximumSilence = .seconds(7)
        }
        #expect(self.resolutions(talk.happened(.change(silent))).count == 1)
        _ = talk.wait(.seconds(1))
        #expect(talk.happened(.change(silent)) == [])
    }

    // MARK: - The floor

    @Test func aFloorAloneLimitsRequestsAndNothingElse() throws {
        let van = try PublisherConversation.van { $0.floor = try self.resolution(5) }
        var talk = try PublisherConversation.online(van)
        _ = talk.subscriber("w1")
        _ = talk.wait(.seconds(3))
        #expect(
            self.resolutions(talk.request("w1", interval: 500)) == [
                "van/resolution: BALANCED/5000/0 ONLINE subscribers 1"
            ])
        _ = talk.wait(.seconds(1))
        // Without constraints a coarse request is followed: a floor makes none.
        #expect(
            self.resolutions(talk.request("w1", interval: 60_000)) == [
                "van/resolution: BALANCED/60000/0 ONLINE subscribers 1"
            ])
    }

    @Test func aTrackablesFloorTakesThePlaceOfThePublishers() throws {
        let cases: [(Resolution?, String)] = [(nil, "BALANCED/5000/0"), (try self.resolution(2), "BALANCED/2000/0")]
        for (own, expected) in cases {
            var talk = try PublisherConversation(
                [try PublisherConversation.van { $0.floor = own }], configure: { $0.floor = try? self.resolution(5) })
            _ = try talk.fix(at: 0)
            _ = talk.connect(0)
            _ = talk.granted()
            _ = talk.subscriber("w1")
            #expect(talk.request("w1", interval: 500).contains("sensor \(expected)"))
        }
    }

    @Test func anotherFloorIsDecidedAtOnce() throws {
        var talk = try PublisherConversation.online()
        _ = talk.subscriber("w1")
        _ = talk.request("w1", interval: 500)
        _ = talk.wait(.seconds(1))
        let changed = try PublisherConversation.van { $0.floor = try self.resolution(3) }
        #expect(talk.happened(.change(changed)).contains("sensor BALANCED/3000/0"))
    }

    // MARK: - Several trackables

    @Test func theSensorFollowsTheFinestOfAllTrackablesAndEachKeepsItsOwn() throws {
        let bike = Trackable(try TrackableID("bike"))
        var talk = try PublisherConversation([try PublisherConversation.van(), bike])
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.subscriber("w1")
        #expect(talk.request("w1", interval: 500).contains("sensor HIGH/500/0"))
        #expect(try talk.fix(at: 0).filter { $0.hasPrefix("fix") } == ["fix 1 first", "fix 1 first"])
        #expect(try talk.fix(at: 1).filter { $0.hasPrefix("fix") }.sorted() == ["fix 2 sent", "fix 2 tooSoon"])
        #expect(talk.happened(.remove(try TrackableID("van"))).contains("sensor BALANCED/10000/0"))
        #expect(talk.happened(.remove(bike.id)).contains { $0.hasPrefix("sensor") } == false)
    }

    @Test func aConstantSensorResolutionLeavesTheTrackablesAlone() throws {
        let constant = try self.resolution(1)
        var talk = try PublisherConversation([], configure: { $0.sensorResolution = constant })
        #expect(talk.happened(.add(try PublisherConversation.van())).contains("sensor BALANCED/1000/0"))
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.subscriber("w1")
        _ = talk.wait(.seconds(3))
        let asked = talk.request("w1", interval: 500)
        #expect(!asked.contains { $0.hasPrefix("sensor") })
        #expect(self.resolutions(asked).first?.hasPrefix("van/resolution: HIGH/500/0") == true)
    }

    // MARK: - The clock

    @Test func aClockChangeIsReportedAndTheNextFixCountsAsTheFirst() throws {
        var talk = try PublisherConversation.online()
        talk.now = talk.now.advanced(by: .seconds(5))
        talk.clockStep = .seconds(-3600)
        let said = try talk.fix(at: -3595)
        #expect(said.contains("van/event: CLOCK_JUMP"))
        #expect(said.contains("fix 3 first"))
        talk.now = talk.now.advanced(by: .seconds(1))
        #expect(try talk.fix(at: -3594).contains("fix 4 tooSoon"))
    }

    @Test func aSlewedClockIsNotReported() throws {
        var talk = try PublisherConversation.online()
        for second in 1...100 {
            talk.now = talk.now.advanced(by: .seconds(1))
            talk.clockStep += .microseconds(500)
            #expect(try !talk.fix(at: Double(second)).contains("van/event: CLOCK_JUMP"))
        }
    }

    // MARK: - The end of a recording

    @Test func whatIsRefusedForGoodIsTriedOnceMoreAndGivenUp() throws {
        var talk = try PublisherConversation.online()
        _ = try talk.fix(at: 20)
        _ = talk.acked(refusing: ["tracking/van"])
        #expect(talk.happened(.stop(by: nil)).contains { $0.hasPrefix("subscribe van/publisher/+") })
        #expect(!talk.granted().contains("close"))
        let end = talk.acked(refusing: ["tracking/van"])
        #expect(end.contains("given up van (notAuthorized)"))
        #expect(end.last == "close")
    }

    @Test func whatIsGrantedAtLastIsSentBeforeTheEnd() throws {
        var talk = try PublisherConversation.online()
        _ = try talk.fix(at: 20)
        _ = talk.acked(refusing: ["tracking/van"])
        #expect(talk.happened(.stop(by: nil)).contains("van: update 2"))
        _ = talk.granted()
        let end = talk.acked()
        #expect(!end.contains { $0.hasPrefix("given up") })
        #expect(end.last == "close")
    }

    @Test func aRefusedTrackableDoesNotHoldUpTheOthers() throws {
        let bike = Trackable(try TrackableID("bike"))
        var talk = try PublisherConversation([try PublisherConversation.van(), bike])
        _ = try talk.fix(at: 0)
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.acked(refusing: ["tracking/bike"])
        #expect(talk.machine.readiness.isReadyForFix)
        _ = talk.happened(.stop(by: nil))
        _ = talk.granted()
        let end = talk.acked(refusing: ["tracking/bike"])
        #expect(end.filter { $0.hasPrefix("given up") } == ["given up bike (notAuthorized)"])
        #expect(end.last == "close")
    }

    @Test func aRefusalOfEverythingLetsARecordingGoOnToItsEnd() throws {
        var talk = try PublisherConversation.online()
        _ = try talk.fix(at: 20)
        #expect(!talk.machine.readiness.isReadyForNextFix)
        _ = talk.acked(refusing: ["tracking/van"])
        #expect(talk.machine.readiness.isReadyForNextFix && !talk.machine.readiness.isReadyForFix)
    }

    @Test func aDeviceThatIsRefusedIsTriedOnceMoreAtTheEndAndGivenUp() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = try talk.fix(at: 0)
        #expect(!talk.machine.readiness.isReadyForNextFix)
        // Another address is tried at once: nothing is decided yet.
        _ = talk.turnedAway(retry: .zero)
        #expect(!talk.machine.readiness.isReadyForNextFix)
        _ = talk.turnedAway()
        #expect(talk.machine.readiness.isReadyForNextFix)
        let asked = talk.happened(.stop(by: nil))
        #expect(asked.contains("try now") && !asked.contains("close"))
        let end = talk.turnedAway()
        #expect(end.contains("given up van (badCredentials)") && end.last == "close")
    }

    @Test func aDeviceThatIsLetInAtLastSendsWhatItHas() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = try talk.fix(at: 0)
        _ = talk.turnedAway()
        _ = talk.happened(.stop(by: nil))
        var said = talk.connect(0) + talk.granted()
        #expect(said.contains("van: update 1"))
        said += talk.acked()
        #expect(!said.contains { $0.hasPrefix("given up") } && said.last == "close")
    }

    @Test func whatIsRefusedUntilTheTimeIsUpIsGivenUp() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = try talk.fix(at: 0)
        _ = talk.turnedAway()
        _ = talk.happened(.stop(by: MonotonicTime(.seconds(5))))
        let end = talk.turnedAway() + talk.wait(.seconds(5))
        #expect(end.contains("given up van (badCredentials)") && end.last == "close")
    }

    // MARK: - The own liveness

    @Test func theGoodbyeOfAnotherProgramUnderThisIdIsAnsweredAtOnce() throws {
        var talk = try PublisherConversation.online()
        let goodbye = #"{"status":"offline","session":"other","connection":0}"#
        #expect(talk.receive("tracking/_clients/d1", goodbye) == ["_clients/d1: online mine/0"])
        #expect(talk.receive("tracking/_clients/d1", "") == ["_clients/d1: online mine/0"])
        let answers = (0..<50).reduce(0) { count, _ in count + talk.receive("tracking/_clients/d1", goodbye).count }
        #expect(answers == SessionStateMachine.answersPerHeartbeat - 2)
    }

    // MARK: - States

    @Test func aFailedTrackableIsTrackedAgainWhenItIsAddedAgain() throws {
        var talk = try PublisherConversation.online()
        #expect(talk.publisher("d2", "other", since: 1003).contains("van is FAILED (takenOver)"))
        _ = talk.happened(.remove(try TrackableID("van")))
        _ = talk.happened(.add(try PublisherConversation.van()))
        _ = talk.publisher("d2", "other", since: 1003)
        let granted = talk.granted()
        #expect(granted.contains("van/publisher/d1: present mine/0 since 1003.001"))
        #expect(granted.contains("van is PUBLISHING"))
    }

    @Test(arguments: UInt64(1)...20) func statesAreDeliveredOnChangeOnlyAndTheNetworkIsNoFailure(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var talk = try PublisherConversation([try PublisherConversation.van()])
        var (connection, second) = (0, 0.0)
        var reported: [String] = []
        for _ in 0..<300 {
            let said: [String]
            switch Int.random(in: 0..<8, using: &random) {
            case 0: said = talk.lose()
            case 1:
                said = talk.lose() + talk.connect(connection)
                connection += 1
            case 2: said = talk.granted(refusing: Bool.random(using: &random) ? self.forbidden : nil)
            case 3: said = talk.acked(refusing: Bool.random(using: &random) ? ["tracking/van"] : [])
            case 4: said = talk.echoed()
            case 5: said = talk.wait(.seconds(Int.random(in: 0..<50, using: &random)))
            default:
                second += 11
                said = try talk.fix(at: second)
            }
            reported += said.filter { $0.hasPrefix("van is ") }
        }
        for (before, after) in zip(reported, reported.dropFirst()) { #expect(before != after) }
        #expect(!reported.contains { $0.contains("FAILED") })
        #expect(reported.contains { $0.contains("PUBLISHING") })
    }

    @Test func aNameThatTheBrokerCanNotTakeIsFailed() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = talk.connect(0)
        let refusal = TrackingError(.refused, "topic filter invalid", reasonCode: 0x8F)
        #expect(talk.granted(refusing: refusal).contains("van is FAILED (refused)"))
        #expect(talk.machine.readiness.hasFailed)
        #expect(!talk.wait(.seconds(600)).contains { $0.hasPrefix("subscribe") })
    }
}
