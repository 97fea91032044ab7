import Testing
import TrackingCore

@testable import TrackingPublisher

/// The resolution that the publisher requests from the receiver during a pause, and for several trackables.
@Suite struct RestingReceiverTests {
    /// A publisher whose van has been stationary for a while, with the texts of the last actions.
    private func paused(
        _ change: (inout PublisherConfiguration) -> Void = { _ in }
    ) throws -> (talk: PublisherConversation, said: [String]) {
        var capture = CaptureStateMachine.Configuration()
        capture.pause = try PauseStateMachine(radius: 50, after: .seconds(3))
        let machine = CaptureStateMachine(
            filter: try CaptureFilter(), zones: try PrivacyZones([]), configuration: capture)
        var talk = try PublisherConversation.online {
            $0.capture = machine
            change(&$0)
        }
        talk.now = MonotonicTime(.seconds(5))
        let said = try talk.fix(at: 5)
        #expect(talk.machine.capture?.isPaused == true)
        return (talk, said)
    }

    private func sensor(_ said: [String]) -> [String] { said.filter { $0.hasPrefix("sensor ") } }

    @Test func aPauseRestsTheReceiverAndItsEndWakesIt() throws {
        let (started, said) = try self.paused()
        var talk = started
        #expect(self.sensor(said) == ["sensor BALANCED/300000/0"])
        talk.now = MonotonicTime(.seconds(305))
        #expect(try self.sensor(talk.fix(at: 305, metres: 10)) == [])
        talk.now = MonotonicTime(.seconds(605))
        #expect(try self.sensor(talk.fix(at: 605, metres: 500)) == ["sensor BALANCED/10000/0"])
    }

    /// A receiver that sleeps for two minutes says nothing, although the van may move on at the next traffic light.
    @Test func theSilenceOfASleepingReceiverIsNoPause() throws {
        var capture = CaptureStateMachine.Configuration()
        capture.pause = try PauseStateMachine(radius: 50, after: .seconds(60))
        let machine = CaptureStateMachine(
            filter: try CaptureFilter(), zones: try PrivacyZones([]), configuration: capture)
        for (interval, isPaused) in [(120, false), (10, true)] {
            var talk = try PublisherConversation.online {
                $0.capture = machine
                $0.sensorResolution = .every(milliseconds: interval * 1000)
            }
            talk.now = MonotonicTime(.seconds(5))
            let coordinate = try #require(Coordinate(latitude: 0.01, longitude: 1))
            var fix = Location(coordinate: coordinate, time: UnixTime(1005))
            fix.speed = 0.1
            _ = talk.happened(.fix(fix, raw: fix))
            _ = talk.wait(.seconds(119))
            #expect((talk.machine.capture?.isPaused == true) == isPaused, "\(interval) s")
            _ = talk.wait(.seconds(200))
            #expect(talk.machine.capture?.isPaused == true, "\(interval) s")
        }
    }

    @Test func aRequestATripAndAReportWakeTheReceiver() throws {
        var talk = try self.paused().talk
        _ = talk.request("w1", interval: 500)
        #expect(self.sensor(talk.subscriber("w1")) == ["sensor HIGH/500/0"])
        talk = try self.paused().talk
        let van = try TrackableID("van")
        #expect(self.sensor(talk.happened(.trip(van, try TripMode("car"), request: 1))) == ["sensor BALANCED/10000/0"])
        #expect(self.sensor(talk.happened(.trip(van, nil, request: 2))) == ["sensor BALANCED/300000/0"])
        #expect(self.sensor(talk.happened(.report(request: 3))) == ["sensor BALANCED/1000/0"])
    }

    @Test func aConstantResolutionAndARecordingAreNotRested() throws {
        let constant = Resolution.every(milliseconds: 2000)
        #expect(try self.sensor(self.paused { $0.sensorResolution = constant }.said) == [])
        #expect(try self.sensor(self.paused { $0.restsReceiver = false }.said) == [])
    }

    /// A fix at each finest interval would be too late for the other trackable.
    @Test func aReceiverDoesNotSleepBetweenTheFixesOfDifferentIntervals() throws {
        func constraints(_ seconds: Int) throws -> ResolutionConstraints {
            let resolution = Resolution.every(milliseconds: seconds * 1000, .balanced)
            return try ResolutionConstraints(
                resolutions: ResolutionSet(farWithoutSubscriber: resolution, nearWithoutSubscriber: resolution),
                proximityThreshold: ProximityThreshold(spatial: 100))
        }
        var van = try PublisherConversation.van()
        van.constraints = try constraints(120)
        var bike = Trackable(try TrackableID("bike"))
        bike.constraints = try constraints(180)
        #expect(try PublisherConversation([van]).machine.device.sensor?.desiredInterval == .seconds(120))
        #expect(try PublisherConversation([van, bike]).machine.device.sensor?.desiredInterval == .seconds(60))
        van.filter = .either
        #expect(try PublisherConversation([van]).machine.device.sensor?.desiredInterval == .seconds(60))
    }
}
