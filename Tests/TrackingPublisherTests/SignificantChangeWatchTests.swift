import Testing
import TrackingCore

@testable import TrackingPublisher

/// The receiver while only significant changes are recorded and a network source watches for them.
@Suite struct SignificantChangeWatchTests {
    private let start = MonotonicTime(.zero)

    private func fix(metres: Double, _ source: SourceKind, radius: Double? = nil) throws -> Location {
        let coordinate = try #require(Coordinate(latitude: metres / 111_195, longitude: 1))
        var fix = Location(coordinate: coordinate, time: UnixTime(1_000))
        (fix.source, fix.accuracyHorizontal) = (source, radius)
        return fix
    }

    private func after(_ seconds: Int) -> MonotonicTime { self.start.advanced(by: .seconds(seconds)) }

    /// A watch at a place of the receiver.
    private func watching() throws -> SignificantChangeWatch {
        var watch = SignificantChangeWatch()
        #expect(watch.advance(isOn: true, now: self.start) == true)
        #expect(try watch.received(self.fix(metres: 0, .gps, radius: 5), now: self.start) == true)
        #expect(watch.isCoarse && watch.deadline == nil)
        return watch
    }

    @Test func aChangeOfTheNetworksPositionWakesTheReceiver() throws {
        var watch = try self.watching()
        for (metres, radius) in [(100.0, 50.0), (499, 50), (900, 1_000)] {
            #expect(
                try watch.received(self.fix(metres: metres, .network, radius: radius), now: self.after(60)) == false)
            #expect(watch.isCoarse, "\(metres) m")
        }
        #expect(try watch.received(self.fix(metres: 600, .network, radius: 300), now: self.after(120)) == false)
        #expect(!watch.isCoarse && watch.deadline == self.after(240))
        #expect(try watch.received(self.fix(metres: 620, .network), now: self.after(130)) == false)
        #expect(try watch.received(self.fix(metres: 620, .gps, radius: 400), now: self.after(131)) == false)
        #expect(try watch.received(self.fix(metres: 640, .gps, radius: 100), now: self.after(132)) == true)
        #expect(watch.isCoarse)
        #expect(try watch.received(self.fix(metres: 1_000, .network, radius: 10), now: self.after(192)) == false)
        #expect(watch.isCoarse, "the distance counts from the last position of the receiver")
    }

    @Test func theNetworksPositionReplacesThatOfAReceiverWithoutReception() throws {
        var watch = try self.watching()
        _ = try watch.received(self.fix(metres: 600, .network), now: self.after(60))
        let deadline = try #require(watch.deadline)
        #expect(watch.advance(isOn: true, now: deadline) == true)
        #expect(watch.isCoarse)
        #expect(try watch.received(self.fix(metres: 700, .network, radius: 900), now: deadline) == true)
        #expect(try watch.received(self.fix(metres: 700, .network, radius: 900), now: deadline) == false)
    }

    @Test func everyPositionCountsWithoutTheWatch() throws {
        var watch = try self.watching()
        #expect(watch.advance(isOn: false, now: self.start) == true)
        #expect(try watch.received(self.fix(metres: 10, .network), now: self.start) == true)
        #expect(!watch.isCoarse && watch.deadline == nil)
        #expect(watch.advance(isOn: false, now: self.start) == false)
    }

    /// The capture filter drops fixes with a radius of more than 30 m, so that they do not end the search.
    @Test func aPositionThatIsDroppedDoesNotCount() throws {
        var watch = try self.watching()
        func receives(_ radius: Double, _ source: SourceKind = .gps, at second: Int) throws -> Bool {
            try watch.received(
                self.fix(metres: 600, source, radius: radius), maximumRadius: 30, now: self.after(second))
        }
        #expect(try receives(31, at: 1) == false)
        #expect(try receives(300, .network, at: 60) == false)
        #expect(try receives(31, at: 61) == false)
        #expect(watch.isMeasuring)
        let deadline = try #require(watch.deadline)
        #expect(deadline == self.after(180) && watch.advance(isOn: true, now: deadline))
        #expect(try receives(300, .network, at: 181) == false)
        #expect(try receives(300, .network, at: 479) == false)
        #expect(watch.isCoarse && watch.deadline == nil)
        #expect(try receives(300, .network, at: 480) == false)
        #expect(watch.isMeasuring && watch.deadline == self.after(600), "the receiver searches again")
        #expect(try receives(30, at: 490) == true)
        #expect(watch.isCoarse)
    }

    // MARK: - In the publisher

    private func online(
        pause: Duration? = nil, maximumRadius radius: Meters? = nil,
        _ change: (inout PublisherConfiguration) -> Void = { _ in }
    ) throws -> PublisherConversation {
        let filter = try CaptureFilter(maximumAccuracyRadius: radius, significantChange: .only)
        var settings = CaptureStateMachine.Configuration()
        settings.pause = try pause.map { (after) throws in try PauseStateMachine(radius: 50, after: after) }
        let capture = CaptureStateMachine(filter: filter, zones: try PrivacyZones([]), configuration: settings)
        return try PublisherConversation.online {
            $0.capture = capture
            $0.changeWatchAccuracy = .low
            change(&$0)
        }
    }

    private func moved(
        _ talk: inout PublisherConversation, _ metres: Double, _ source: SourceKind = .gps, radius: Double? = nil
    ) throws -> [String] {
        var fix = try self.fix(metres: metres, source, radius: radius ?? (source == .gps ? 5 : 300))
        fix.speed = source == .gps ? 0 : nil
        return talk.happened(.fix(fix, raw: fix))
    }

    private func sensor(_ said: [String]) -> [String] { said.filter { $0.hasPrefix("sensor ") } }

    @Test func theReceiverSleepsUntilAChange() throws {
        var talk = try self.online()
        let points = { (said: [String]) in said.filter { $0.hasPrefix("fix ") }.count }
        _ = try self.moved(&talk, 0)
        #expect(talk.machine.device.sensor == SignificantChangeWatch.resolution)
        talk.now = MonotonicTime(.seconds(60))
        var said = try self.moved(&talk, 100, .network)
        #expect(self.sensor(said) == [] && points(said) == 0)
        said = try self.moved(&talk, 650, .network)
        #expect(self.sensor(said) == ["sensor BALANCED/10000/0"] && points(said) == 0)
        said = try self.moved(&talk, 600)
        #expect(self.sensor(said) == ["sensor MINIMUM/60000/0"])
        #expect(talk.machine.changeWatch.isCoarse)
    }

    @Test func aReceiverWithoutReceptionIsReplacedInTime() throws {
        var talk = try self.online()
        _ = try self.moved(&talk, 0)
        _ = try self.moved(&talk, 650, .network)
        #expect(talk.machine.device.sensor?.accuracy == .balanced)
        #expect(self.sensor(talk.wait(SignificantChangeWatch.search)) == ["sensor MINIMUM/60000/0"])
    }

    /// The search lasts for two minutes, and a sleeping or resting receiver may need longer for one fix.
    @Test func theReceiverDoesNotSleepDuringTheSearch() throws {
        var talk = try self.online { $0.defaultResolution = .every(milliseconds: 600_000, .balanced) }
        _ = try self.moved(&talk, 0)
        #expect(try self.sensor(self.moved(&talk, 650, .network)) == ["sensor BALANCED/60000/0"])

        talk = try self.online(pause: .seconds(3))
        for second in [10, 20, 30] {
            talk.now = MonotonicTime(.seconds(second))
            var fix = try self.fix(metres: 0, .gps, radius: 5)
            fix.time = UnixTime(1000 + Double(second))
            _ = talk.happened(.fix(fix, raw: fix))
        }
        #expect(talk.machine.capture?.isPaused == true)
        #expect(try self.sensor(self.moved(&talk, 650, .network)) == ["sensor BALANCED/10000/0"])
    }

    @Test func aFixThatTheFilterDropsDoesNotEndTheSearch() throws {
        var talk = try self.online(maximumRadius: 30)
        _ = try self.moved(&talk, 0)
        _ = try self.moved(&talk, 650, .network)
        #expect(try self.sensor(self.moved(&talk, 600, radius: 50)) == [])
        #expect(talk.machine.changeWatch.isMeasuring)
        #expect(try self.sensor(self.moved(&talk, 600, radius: 30)) == ["sensor MINIMUM/60000/0"])
    }

    /// The receiver was silent for hours because it was not needed.
    @Test func aDepartureIsNoPause() throws {
        var talk = try self.online(pause: .seconds(60))
        _ = try self.moved(&talk, 0)
        _ = talk.wait(.seconds(7_200))
        #expect(talk.machine.capture?.nextDeadline != nil && talk.machine.pauseDeadline == nil)
        _ = try self.moved(&talk, 650, .network)
        #expect(talk.machine.changeWatch.isMeasuring)
        _ = talk.wait(.seconds(30))
        #expect(talk.machine.capture?.isPaused == false)

        talk = try self.online(pause: .seconds(60))
        _ = try self.moved(&talk, 0)
        _ = talk.wait(.seconds(7_200))
        _ = talk.happened(.trip(try TrackableID("van"), try TripMode("car"), request: 1))
        #expect(!talk.machine.changeWatch.isOn)
        _ = talk.wait(.seconds(30))
        #expect(talk.machine.capture?.isPaused == false)
        _ = talk.wait(SignificantChangeWatch.search)
        #expect(talk.machine.capture?.isPaused == true, "the receiver has been silent since the watch ended")
    }

    @Test func aRequestATripAndAReportWakeTheReceiver() throws {
        var talk = try self.online()
        _ = try self.moved(&talk, 0)
        _ = talk.request("w1", interval: 500)
        #expect(self.sensor(talk.subscriber("w1")) == ["sensor HIGH/500/0"])
        talk = try self.online()
        _ = try self.moved(&talk, 0)
        let van = try TrackableID("van")
        #expect(self.sensor(talk.happened(.trip(van, try TripMode("car"), request: 1))) == ["sensor BALANCED/10000/0"])
        talk = try self.online()
        _ = try self.moved(&talk, 0)
        #expect(self.sensor(talk.happened(.report(request: 3))) == ["sensor BALANCED/1000/0"])
    }

    @Test func otherSettingsDoNotWatch() throws {
        let standard = try CaptureStateMachine(filter: CaptureFilter(), zones: PrivacyZones([]))
        let low = Resolution.every(milliseconds: 10_000, .low)
        let settings: [(inout PublisherConfiguration) -> Void] = [
            { $0.changeWatchAccuracy = nil }, { $0.changeWatchAccuracy = .balanced }, { $0.capture = standard },
            { $0.defaultResolution = low }, { $0.sensorResolution = low },
        ]
        for change in settings {
            var talk = try self.online(change)
            _ = try self.moved(&talk, 0)
            #expect(talk.machine.device.sensor != SignificantChangeWatch.resolution)
        }
    }
}
