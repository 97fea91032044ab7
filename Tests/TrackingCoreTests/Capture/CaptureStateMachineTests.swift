import Testing

@testable import TrackingCore

@Suite struct CaptureStateMachineTests {
    private func machine(
        zones: [PrivacyZone] = [], _ change: (inout CaptureStateMachine.Configuration) -> Void = { _ in }
    ) throws -> CaptureStateMachine {
        var configuration = CaptureStateMachine.Configuration()
        change(&configuration)
        return CaptureStateMachine(
            filter: try CaptureFilter(minimumDistance: 10), zones: try PrivacyZones(zones),
            configuration: configuration)
    }

    private var home: PrivacyZone {
        get throws { try PrivacyZone(name: "home", center: Location.fix(north: 1000, at: 0).coordinate, radius: 100) }
    }

    private func fix(north: Double, at seconds: Double, speed: Double? = nil) -> Location {
        var fix = Location.fix(north: north, at: 1e8 + seconds, speed: speed)
        fix.source = .gps
        return fix
    }

    @Test func aPointHasMotionModeStatisticsAndNetwork() throws {
        var machine = try self.machine {
            $0.mode = .active
            $0.stats = TrackingStats(
                pauses: false, activity: .other, desiredAccuracy: .best, deferral: nil, significantChange: .off)
        }
        let outcome = machine.moved(self.fix(north: 0, at: 0, speed: 20), at: .at(0), wireless: "net")
        #expect(outcome.verdict == .filtered(.first))
        #expect(outcome.point?.motion == [.driving] && outcome.point?.mode == .active)
        #expect(outcome.point?.extraText?.hasSuffix(#""locations_in_payload":1,"wifi":"net"}"#) == true)
        #expect(outcome.shown?.extra == nil)
        let near = machine.moved(self.fix(north: 5, at: 1), at: .at(1))
        #expect(near.verdict == .filtered(.tooClose) && near.point == nil && near.shown != nil)
    }

    @Test func insideAZoneNothingIsAddedToTheCentre() throws {
        var machine = try self.machine(zones: [self.home]) {
            $0.mode = .active
            $0.stats = TrackingStats(
                pauses: false, activity: .other, desiredAccuracy: .best, deferral: nil, significantChange: .off)
        }
        _ = machine.moved(self.fix(north: 0, at: 0, speed: 20), at: .at(0), wireless: "net")
        let outcome = machine.moved(self.fix(north: 1020, at: 60, speed: 20), at: .at(60), wireless: "net")
        var expected = Location(coordinate: try self.home.center, time: UnixTime(1_700_000_000 + 1e8 + 60))
        expected.source = .zone
        expected.mode = .active
        #expect(outcome.point == expected && outcome.shown == expected)
        #expect(outcome.happenings.map(\.kind) == [.zone])
    }

    @Test func anOmittedFixIsNeverPublished() throws {
        let home = try self.home
        var machine = try self.machine(
            zones: [PrivacyZone(name: home.name, center: home.center, radius: home.radius, rule: .omit)])
        let outcome = machine.moved(self.fix(north: 1000, at: 0), at: .at(0))
        #expect(outcome.verdict == .hidden && outcome.shown == nil && outcome.point == nil)
        #expect(outcome.happenings.map(\.kind) == [.zone])
    }

    @Test func nothingIsRecordedWhileStationary() throws {
        var machine = try self.machine {
            $0.pause = PauseStateMachine(activity: .other)
            $0.reportsVisits = true
        }
        _ = machine.moved(self.fix(north: 0, at: 0, speed: 0), at: .at(0))
        #expect(machine.nextDeadline == Moment.at(180).now)
        let paused = machine.moved(self.fix(north: 20, at: 180), at: .at(180))
        #expect(paused.verdict == .paused && paused.point == nil && paused.shown != nil && machine.isPaused)
        #expect(paused.happenings.map(\.kind) == [.paused])
        let resumed = machine.moved(self.fix(north: 200, at: 900), at: .at(900))
        #expect(resumed.verdict == .filtered(.recorded) && resumed.point != nil && !machine.isPaused)
        #expect(resumed.happenings.map(\.kind) == [.resumed, .visit])
    }

    @Test func silenceMakesAPause() throws {
        var machine = try self.machine { $0.pause = PauseStateMachine(activity: .other) }
        _ = machine.moved(self.fix(north: 0, at: 0, speed: 0), at: .at(0))
        let kinds = machine.timerFired(now: Moment.at(180).now).map(\.kind)
        #expect(kinds == [.paused])
    }

    @Test func aRejectedMockTouchesNothing() throws {
        var machine = try self.machine(zones: [self.home]) { $0.mock = .reject }
        let before = machine
        let outcome = machine.moved(MockPolicy.marked(.fix(north: 1000, at: 0)), at: .at(0))
        #expect(outcome == .init(verdict: .mock))
        #expect(machine == before)
    }

    @Test func anUnsetClockIsMarkedUntilAReceiverReportsTheTime() throws {
        var machine = try self.machine()
        let boot = Moment(now: MonotonicTime(.seconds(9)), wall: UnixTime(9))
        var dateless = self.fix(north: 0, at: 0)
        dateless.time = UnixTime(8)
        #expect(machine.moved(dateless, at: boot).point?.extraText == #"{"clock":"unset"}"#)
        #expect(machine.stamp(at: boot).basis == .unset)
        _ = machine.moved(self.fix(north: 50, at: 0), at: boot)
        #expect(machine.stamp(at: boot) == .init(time: self.fix(north: 0, at: 0).time, basis: .receiver))
    }

    // MARK: - Other settings

    /// A new machine with the same zones that records every two metres.
    private func other(
        than machine: CaptureStateMachine, _ change: (inout CaptureStateMachine.Configuration) -> Void = { _ in }
    ) throws -> CaptureStateMachine {
        var configuration = machine.configuration
        change(&configuration)
        return CaptureStateMachine(
            filter: try CaptureFilter(minimumDistance: 2), zones: machine.zones, configuration: configuration)
    }

    @Test func aFixAtTheEdgeOfAZoneStaysHiddenWhenSettingsChange() throws {
        var machine = try self.machine(zones: [self.home])
        #expect(machine.moved(self.fix(north: 1000, at: 0), at: .at(0)).happenings.map(\.kind) == [.zone])
        #expect(machine.configure(as: try self.other(than: machine), at: .at(1)).isEmpty)
        let outcome = machine.moved(self.fix(north: 1105, at: 2), at: .at(2))
        #expect(outcome.shown?.source == .zone && outcome.happenings.isEmpty)
        // A zone is identified by its name.
        let zones = try PrivacyZones([PrivacyZone(name: "work", center: try self.home.center, radius: 50), self.home])
        let next = CaptureStateMachine(filter: machine.filter, zones: zones)
        #expect(machine.configure(as: next, at: .at(3)).isEmpty)
        #expect(machine.moved(self.fix(north: 1105, at: 4), at: .at(4)).shown?.source == .zone)
    }

    @Test func aPauseContinuesWhenSettingsChange() throws {
        var machine = try self.machine {
            $0.pause = PauseStateMachine(activity: .other)
            $0.reportsVisits = true
        }
        _ = machine.moved(self.fix(north: 0, at: 0, speed: 0), at: .at(0))
        _ = machine.moved(self.fix(north: 0, at: 180), at: .at(180))
        #expect(machine.configure(as: try self.other(than: machine), at: .at(200)).isEmpty)
        #expect(machine.isPaused)
        let resumed = machine.moved(self.fix(north: 200, at: 900), at: .at(900)).happenings
        #expect(resumed.map(\.kind) == [.resumed, .visit])
        #expect(resumed.last?.detail["arrival"] == .number(self.fix(north: 0, at: 0).time.seconds))
    }

    @Test func disablingPausesReportsTheEndOfAPause() throws {
        var machine = try self.machine {
            $0.pause = PauseStateMachine(activity: .other)
            $0.reportsVisits = true
        }
        _ = machine.moved(self.fix(north: 0, at: 0, speed: 0), at: .at(0))
        _ = machine.moved(self.fix(north: 0, at: 180), at: .at(180))
        let next = try self.other(than: machine) { ($0.pause, $0.reportsVisits) = (nil, false) }
        let happenings = machine.configure(as: next, at: .at(300))
        #expect(happenings.map(\.kind) == [.resumed, .visit])
        #expect(happenings.first?.detail["until"] == .number(Moment.at(300).wall.seconds))
        #expect(machine.configure(as: try self.other(than: machine), at: .at(301)).isEmpty)
    }

    @Test func clockMotionAndReferenceRemainWhenSettingsChange() throws {
        var machine = try self.machine()
        let boot = Moment(now: MonotonicTime(.seconds(9)), wall: UnixTime(9))
        _ = machine.moved(self.fix(north: 0, at: 0, speed: 20), at: boot)
        _ = machine.configure(as: try self.other(than: machine), at: boot)
        #expect(machine.stamp(at: boot).basis == .receiver)
        let near = machine.moved(self.fix(north: 1, at: 1), at: boot)
        #expect(near.verdict == .filtered(.tooClose) && near.shown?.motion == [.driving])
        #expect(machine.moved(self.fix(north: 3, at: 2), at: boot).verdict == .filtered(.recorded))
    }

    @Test func aStepOfTheClockMakesTheNextFixAFirst() throws {
        var machine = try self.machine()
        _ = machine.moved(self.fix(north: 0, at: 0), at: .at(0))
        machine.clockStepped()
        #expect(machine.moved(self.fix(north: 1, at: 1), at: .at(1)).verdict == .filtered(.first))
    }
}
