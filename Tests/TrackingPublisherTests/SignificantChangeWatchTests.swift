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

    // MARK: - In the publisher

    private func online(
        _ change: (inout PublisherConfiguration) -> Void = { _ in }
    ) throws -> PublisherConversation {
        let filter = try CaptureFilter(significantChange: .only)
        let capture = CaptureStateMachine(filter: filter, zones: try PrivacyZones([]))
        return try PublisherConversation.online {
            $0.capture = capture
            $0.watchesChangesByNetwork = true
            change(&$0)
        }
    }

    private func moved(
        _ talk: inout PublisherConversation, _ metres: Double, _ source: SourceKind = .gps
    ) throws -> [String] {
        let fix = try self.fix(metres: metres, source, radius: source == .gps ? 5 : 300)
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
            { $0.watchesChangesByNetwork = false }, { $0.capture = standard }, { $0.defaultResolution = low },
            { $0.sensorResolution = low },
        ]
        for change in settings {
            var talk = try self.online(change)
            _ = try self.moved(&talk, 0)
            #expect(talk.machine.device.sensor != SignificantChangeWatch.resolution)
        }
    }
}
