import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for the options that decide when records are sent.
struct SendingRulesTests {
    /// A publisher of `van` that is connected and was answered at second 0, with one fix.
    private func connected(
        _ trackable: Trackable? = nil, _ configure: (inout PublisherConfiguration) throws -> Void
    ) throws -> PublisherConversation {
        var failure: (any Error)?
        var talk = try PublisherConversation([try trackable ?? PublisherConversation.van()]) { configuration in
            do { try configure(&configuration) } catch { failure = error }
        }
        if let failure { throw failure }
        _ = try talk.fix(at: 0)
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.echoed()
        _ = talk.acked()
        return talk
    }

    /// The position is not requested again, and the resolution announces no further one.
    @Test func whereNothingGoesByItselfNoPositionIsRepeated() throws {
        var talk = try self.connected(try PublisherConversation.van { $0.maximumSilence = .seconds(40) }) { _ in }
        var configuration = talk.machine.configuration
        configuration.recording.batchWindow = nil
        let said = talk.happened(.configure(configuration)) + talk.wait(.seconds(1))
        #expect(said.contains { $0.hasPrefix("van/resolution: ") })
        let reported = try #require(talk.said["tracking/van/resolution"])
        #expect(try MessageCodec.decodeResolution(reported[...]).maximumSilence == .zero)
        let later = talk.wait(.seconds(300)) + talk.subscriber("w1") + talk.wait(.seconds(2))
        #expect(self.sent(later) == [])
        #expect(later.contains { $0.hasPrefix("van/publisher/d1: ") }, "it announces itself all the same")
        configuration.recording.batchWindow = .seconds(20)
        _ = talk.happened(.configure(configuration))
        #expect(talk.wait(.seconds(40)).contains("van: update 1"))
    }

    private func sent(_ said: [String]) -> [String] {
        said.filter { $0.hasPrefix("van: ") || $0.hasPrefix("van/history") }
    }

    /// The numbers of the records that remain in the log.
    private func left(_ talk: PublisherConversation) -> [UInt64] { talk.log.values.flatMap(\.keys).sorted() }

    // MARK: - Sending that waits for a way

    private func deferred(_ silence: Duration? = nil) throws -> PublisherConversation {
        try self.connected(try PublisherConversation.van { $0.maximumSilence = silence }) {
            $0.deferral = try SendDeferral(distance: 100)
            $0.recording.batchWindow = .seconds(5)
        }
    }

    @Test func sendingWaitsUntilTheWayWasGone() throws {
        var talk = try self.deferred()
        var said: [String] = []
        for step in 1...7 {
            talk.now = MonotonicTime(.seconds(10 * step))
            said += try talk.fix(at: Double(10 * step), metres: Double(14 * step)) + talk.wait(.seconds(6))
        }
        #expect(self.sent(said) == [])
        // The fix is recorded nevertheless.
        #expect(self.left(talk) == [2, 3, 4, 5, 6, 7, 8])
        talk.now = MonotonicTime(.seconds(80))
        #expect(self.sent(try talk.fix(at: 80, metres: 112)) == ["van: update 9 skipped 2,3,4,5,6,7,8"])
        _ = talk.acked()
        #expect(self.left(talk) == [])
        // The distance starts anew.
        talk.now = MonotonicTime(.seconds(90))
        #expect(self.sent(try talk.fix(at: 90, metres: 140) + talk.wait(.seconds(30))) == [])
    }

    @Test func whatDoesNotRideAlongGoesBehindThePosition() throws {
        var talk = try self.deferred()
        for step in 1...70 {
            talk.now = MonotonicTime(.seconds(5 * step))
            _ = try talk.fix(at: Double(5 * step), metres: Double(step))
        }
        let said = self.sent(try talk.fix(at: 360, metres: 101))
        #expect(said.first?.hasPrefix("van: update 72 skipped 12,13,") == true)
        #expect(said.dropFirst() == ["van/history: batch [2,3,4,5,6,7,8,9,10,11] oldest 2 remaining 61"])
    }

    @Test func nothingIsHeldForMoreThanTenMinutes() throws {
        var talk = try self.deferred()
        talk.now = MonotonicTime(.seconds(20))
        _ = try talk.fix(at: 20, metres: 10)
        #expect(self.sent(talk.wait(.seconds(579))) == [])
        #expect(self.sent(talk.wait(.seconds(21))).contains("van: update 2"))
    }

    /// A subscriber learns the longest silence from the resolution in force.
    @Test func theAnnouncedSilenceIsObserved() throws {
        var talk = try self.deferred()
        let reported = try #require(talk.said["tracking/van/resolution"])
        #expect(try MessageCodec.decodeResolution(reported[...]).maximumSilence == .seconds(600))
        talk = try self.deferred(.seconds(40))
        let own = try #require(talk.said["tracking/van/resolution"])
        #expect(try MessageCodec.decodeResolution(own[...]).maximumSilence == .seconds(40))
        talk.now = MonotonicTime(.seconds(30))
        #expect(self.sent(try talk.fix(at: 30, metres: 10)) == [])
        #expect(self.sent(talk.wait(.seconds(11))) == ["van: update 2"])
    }

    @Test func theSilenceFollowsADeferralThatBeginsOrEndsWhileItRuns() throws {
        var talk = try self.connected { $0.sendsRawLocations = true }
        var configuration = talk.machine.configuration
        func silence(_ said: [String: [UInt8]]) throws -> Duration {
            try MessageCodec.decodeResolution(try #require(said["tracking/van/resolution"])[...]).maximumSilence
        }
        // Ten intervals.
        #expect(try silence(talk.said) == .seconds(100))
        configuration.deferral = try SendDeferral(distance: 100)
        _ = talk.happened(.configure(configuration)) + talk.wait(.seconds(1))
        #expect(try silence(talk.said) == .seconds(600))
        #expect(self.sent(talk.wait(.seconds(589))) == [])
        #expect(self.sent(talk.wait(.seconds(10))) == ["van: update 1"])
        _ = talk.acked()
        configuration.deferral = nil
        _ = talk.happened(.configure(configuration))
        #expect(try silence(talk.said) == .seconds(100))
        #expect(self.sent(talk.wait(.seconds(100))) == ["van: update 1"])
    }

    /// The held records are sent, and later ones without delay, including those that no position brings.
    @Test func aDeferralThatEndsLeavesNothingBehind() throws {
        var talk = try self.deferred()
        talk.now = MonotonicTime(.seconds(20))
        #expect(self.sent(try talk.fix(at: 20, metres: 10)) == [])
        var configuration = talk.machine.configuration
        configuration.deferral = nil
        #expect(self.sent(talk.happened(.configure(configuration))) == ["van: update 2"])
        _ = talk.acked()
        #expect(try talk.fix(at: 21, metres: 11).contains("fix 3 tooSoon"))
        #expect(self.sent(talk.wait(.seconds(6))) == ["van/history: batch [3] oldest 3 remaining 0"])
    }

    @Test func aReportIsNotDeferred() throws {
        var talk = try self.deferred()
        _ = talk.happened(.report(request: 1))
        talk.now = MonotonicTime(.seconds(2))
        let said = try talk.fix(at: 2, metres: 1)
        #expect(said.contains("answer reported"))
        #expect(self.sent(said) == ["van: update 2"])
        // No request was made for the next one.
        talk.now = MonotonicTime(.seconds(30))
        #expect(self.sent(talk.acked() + (try talk.fix(at: 30, metres: 2)) + talk.wait(.seconds(9))) == [])
    }

    @Test(arguments: ["asked", "trip", "stop"]) func whatBeginsOrEndsSomethingGoesAtOnce(what: String) throws {
        var talk = try self.deferred()
        talk.now = MonotonicTime(.seconds(20))
        #expect(self.sent(try talk.fix(at: 20, metres: 10)) == [])
        let van = try TrackableID("van")
        let said =
            switch what {
            case "asked": talk.happened(.sendRecords(all: false))
            case "trip": talk.happened(.trip(van, try TripMode("car"), request: 1))
            default: talk.happened(.stop(by: nil))
            }
        #expect(self.sent(said).contains("van: update 2"))
    }

    @Test func afterAnOutageThePositionGoesAtOnce() throws {
        var talk = try self.deferred()
        _ = talk.lose()
        talk.now = MonotonicTime(.seconds(20))
        _ = try talk.fix(at: 20, metres: 10)
        _ = talk.connect(1)
        #expect(self.sent(talk.granted() + talk.echoed()).first == "van: update 2")
    }

    @Test func aRecordingIsReadOnWhileSendingWaits() throws {
        var talk = try self.deferred()
        #expect(talk.machine.readiness.isReadyForFix)
        _ = try talk.fix(at: 20, metres: 10)
        #expect(talk.machine.readiness.isReadyForFix)
        talk.isDiskBusy = true
        _ = try talk.fix(at: 30, metres: 20)
        #expect(!talk.machine.readiness.isReadyForFix)
    }

    // MARK: - No live lane

    @Test func withoutALiveLanePositionsGoInBatchesAlone() throws {
        var talk = try self.connected {
            $0.sendsLive = false
            $0.sendsRawLocations = true
        }
        var said: [String] = []
        for step in 1...10 {
            talk.now = MonotonicTime(.seconds(step))
            said += try talk.fix(at: Double(step), metres: Double(20 * step))
        }
        said += talk.happened(.trip(try TrackableID("van"), try TripMode("car"), request: 1))
        said += talk.wait(.seconds(30))
        #expect(!said.contains { $0.hasPrefix("van: ") || $0.hasPrefix("van/raw") || $0.hasPrefix("van/trip") })
        #expect(said.contains { $0.hasPrefix("van/event: TRIP_STARTED") })
        #expect(said.contains { $0.hasPrefix("van/history: batch [1,2,3,4,5,6,7,8,9,10,11,12,13]") })
        // The resolution announces no position and no raw positions.
        let inForce = try MessageCodec.decodeResolution(try #require(talk.said["tracking/van/resolution"])[...])
        #expect(inForce.maximumSilence == .zero)
        let presence = try MessageCodec.decodePresence(try #require(talk.said["tracking/van/publisher/d1"])[...])
        #expect(presence.rawLocations == false)
        // An acknowledged batch leads to ONLINE.
        #expect(inForce.state == .publishing)
        #expect(talk.acked().contains("van is ONLINE"))
    }

    // MARK: - Nothing by itself

    @Test func whereNothingGoesByItselfEventsAndTripsWaitToBeAskedFor() throws {
        var talk = try self.connected {
            $0.recording.batchWindow = nil
            $0.recordsLifecycle = true
        }
        var said = talk.happened(.recordEvent(.sourceLost, [:]))
        said += talk.happened(.trip(try TrackableID("van"), try TripMode("car"), request: 1))
        said += talk.wait(.seconds(300))
        #expect(!said.contains { $0.hasPrefix("van/") && !$0.hasPrefix("van/resolution") })
        let asked = talk.happened(.sendRecords(all: true))
        #expect(asked.filter { $0.hasPrefix("van/event") }.count == 3)
        #expect(asked.contains { $0.hasPrefix("van/trip: ACTIVE car") })
        #expect(asked.contains("van/history: batch [1,2,3,4,5] oldest 1 remaining 0"))
        // The request applies once; later records wait again.
        said = talk.acked() + talk.happened(.recordEvent(.sourceLost, [:])) + talk.wait(.seconds(300))
        #expect(!said.contains { $0.hasPrefix("van/event") })
    }

    // MARK: - Lifecycle

    @Test func theBeginningAndTheEndAreEventsWhereTheyAreWanted() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()]) { $0.recordsLifecycle = true }
        _ = talk.connect(0)
        #expect(talk.granted().contains("van/event: STARTED"))
        _ = talk.echoed()
        _ = talk.acked()
        let said = talk.happened(.stop(by: nil)) + talk.acked() + talk.happened(.stop(by: nil)) + talk.acked()
        #expect(said.filter { $0 == "van/event: STOPPING" }.count == 1)
        let event = said.firstIndex(of: "van/event: STOPPING") ?? .max
        #expect(event < said.firstIndex(of: "van/publisher/d1: cleared") ?? .min)
        #expect(said.contains { $0.hasPrefix("van/history: batch [1,2]") })
        var quiet = try PublisherConversation([try PublisherConversation.van()])
        _ = quiet.connect(0)
        #expect(!(quiet.granted() + quiet.happened(.stop(by: nil))).contains { $0.hasPrefix("van/event") })
    }

    // MARK: - The battery

    @Test(arguments: [0.0, 20]) func aLowBatteryIsPublishedOncePerCrossing(own: Double) throws {
        let van = try PublisherConversation.van {
            $0.constraints = try ResolutionConstraints(
                resolutions: ResolutionSet(farWithoutSubscriber: .standard), batteryLevelThreshold: own)
        }
        var talk = try self.connected(van) { $0.lowBattery = try LowBatteryDetector(threshold: 10) }
        let threshold = own == 0 ? 10.0 : own
        let steps = [30.0, -0.5, 0.5, -1, 2.9, -2, 3, -1].map { $0 == 30 ? 50 : threshold + $0 }
        let reported = steps.map { percent in
            talk.happened(.battery(percent)).filter { $0 == "van/event: LOW_BATTERY" }.count
        }
        #expect(reported == [0, 1, 0, 0, 0, 0, 0, 1])
    }

    @Test func theChargeIsPublishedToATenth() throws {
        var talk = try self.connected { $0.lowBattery = try LowBatteryDetector(threshold: 15) }
        let moment = Moment(now: talk.now, wall: UnixTime(1000))
        let reported = talk.machine.happened(.battery(0.14 * 100), at: moment).compactMap { action in
            if case .eventRecorded(_, let event) = action { event.detail["percent"] } else { nil }
        }
        #expect(reported == [.number(14)])
    }

    @Test func aRestartIsNoCrossing() throws {
        func runs(_ percents: Double..., below threshold: Double = 10, after kept: [String: [UInt8]]) throws -> (
            reported: [Bool], kept: [String: [UInt8]]
        ) {
            var talk = try PublisherConversation([try PublisherConversation.van()], kept: kept) {
                $0.lowBattery = try? LowBatteryDetector(threshold: threshold)
            }
            _ = talk.connect(0)
            _ = talk.granted()
            let reported = percents.map { talk.happened(.battery($0)).contains("van/event: LOW_BATTERY") }
            return (reported, kept.merging(talk.kept) { $1 })
        }
        let first = try runs(50, 9, after: [:])
        #expect(first.reported == [false, true])
        let second = try runs(8, 12, 7, after: first.kept)
        #expect(second.reported == [false, false, false])
        #expect(try runs(7, below: 15, after: second.kept).reported == [true], "of another threshold")
        #expect(try runs(13, 9, after: second.kept).reported == [false, true], "it was charged meanwhile")
    }

    @Test func aChargeAboveTheMarginIsKept() throws {
        var talk = try self.connected { $0.lowBattery = try LowBatteryDetector(threshold: 10) }
        _ = talk.happened(.battery(9))
        #expect(talk.kept.count == 1)
        _ = talk.happened(.battery(13))
        #expect(talk.kept.isEmpty)
    }

    @Test func anotherThresholdIsAnotherCrossing() throws {
        var talk = try self.connected { $0.lowBattery = try LowBatteryDetector(threshold: 10) }
        #expect(!talk.happened(.battery(15)).contains("van/event: LOW_BATTERY"))
        var van = try PublisherConversation.van {
            $0.constraints = try ResolutionConstraints(
                resolutions: ResolutionSet(farWithoutSubscriber: .standard), batteryLevelThreshold: 20)
        }
        #expect(talk.happened(.change(van)).contains("van/event: LOW_BATTERY"))
        van.filter = .either
        #expect(!talk.happened(.change(van)).contains("van/event: LOW_BATTERY"))
    }
}
