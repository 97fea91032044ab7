import TestSupport
import Testing
import TrackingCore

@testable import TrackingPublisher

/// The source of GeoClue's positions, on a real D-Bus bus with a service that takes the place of GeoClue.
@Suite(.timeLimit(.minutes(5))) struct GeoClueSourceTests {
    @Test func positionsAreDelivered() async throws {
        let bus = try await PrivateBus.start()
        let service = try await FakeGeoClue.start(on: bus)
        let source = GeoClueSource(bus: bus.address)
        await source.use(.every(milliseconds: 90_500, .low))
        try await whileRunning(source) { log in
            service.move(latitude: 52.5, longitude: 13.25, accuracy: 250)
            try await log.waitForFixes(1)
            let fix = try #require(log.fixes.first)
            #expect(fix.coordinate == Coordinate(latitude: 52.5, longitude: 13.25))
            #expect(fix.source == .network && fix.accuracyHorizontal == 250)
            #expect(fix.altitude == nil && fix.speed == nil && fix.bearing == nil)
            service.move(latitude: 52.6, longitude: 13.25)
            try await log.waitForFixes(2)
            await source.use(.every(milliseconds: 60_000, .low))
            try await service.wait(for: "TimeThreshold=60")
        }
        let calls = service.log.split(separator: "\n").prefix(6)
        #expect(
            calls == [
                "ready", "client", "DesktopId=godwit-agent", "RequestedAccuracyLevel=6", "TimeThreshold=90", "started",
            ])
        try await service.wait(for: "left")
    }

    /// The source ends with an error, and delivers again when it is run again.
    @Test func anEndOfGeoClueAndOfTheBusIsReported() async throws {
        let bus = try await PrivateBus.start()
        let service = try await FakeGeoClue.start(on: bus)
        let source = GeoClueSource(bus: bus.address)
        async let ended = runToEnd(source)
        try await service.wait(for: "started")
        try await service.end()
        let end = await ended.error?.message
        #expect(end == "no positions from GeoClue: GeoClue ended. The program starts it again")

        let other = try await FakeGeoClue.start(on: bus)
        async let closed = runToEnd(source)
        try await other.wait(for: "started")
        try await bus.end()
        let closing = await closed.error?.message
        #expect(closing?.hasPrefix("no positions from GeoClue: ") == true)
    }

    @Test func theAbsenceOfGeoClueAndOfTheBusIsAnErrorWithARemedy() async throws {
        let bus = try await PrivateBus.start()
        let missing = await runToEnd(GeoClueSource(bus: bus.address)).error
        #expect(missing?.code == .inputUnreadable)
        #expect(missing?.message.contains("GeoClue is not installed") == true, "\(missing?.message ?? "")")
        let noBus = await runToEnd(GeoClueSource(bus: "unix:path=/nowhere/bus")).error
        #expect(
            noBus?.message
                == "no positions from GeoClue: cannot connect to the system bus at /nowhere/bus: No such file or directory. Install and start D-Bus, or set DBUS_SYSTEM_BUS_ADDRESS to its address"
        )
        let other = await runToEnd(GeoClueSource(bus: "tcp:host=h")).error
        #expect(other?.message.contains("names no socket of this device") == true, "\(other?.message ?? "")")
    }

    @Test func aRefusalNamesTheSetting() async throws {
        let bus = try await PrivateBus.start()
        let service = try await FakeGeoClue.start(on: bus, .denies)
        let error = await runToEnd(GeoClueSource(bus: bus.address)).error
        #expect(
            error?.message
                == "no positions from GeoClue: GeoClue does not permit it: 'godwit-agent' disallowed by configuration for UID 0. In /etc/geoclue/geoclue.conf, add the section [godwit-agent] with the lines allowed=true, system=true and users="
        )
        #expect(service.count(of: "started") == 0)
    }
}

/// The deadlines of the conversation with GeoClue, and the positions that it may report.
@Suite struct GeoClueStateMachineTests {
    private func bytes(_ actions: [GeoClueStateMachine.Action]) -> [[UInt8]] {
        actions.compactMap { if case .send(let bytes) = $0 { bytes } else { nil } }
    }

    /// A bus that accepts the connection may be too busy for the login.
    @Test func aBusThatDoesNotAnswerTheLoginIsBroken() throws {
        var machine = GeoClueStateMachine(name: "GeoClue", resolution: nil)
        let start = MonotonicTime(.zero)
        #expect(machine.connected(now: start) == [.send(DBusConnection.login)])
        let deadline = try #require(machine.deadline)
        #expect(deadline == start.advanced(by: GeoClueStateMachine.answerLimit))
        #expect(machine.timerFired(now: start.advanced(by: .seconds(59))) == [])
        guard case .fail(let error)? = machine.timerFired(now: deadline).first else {
            Issue.record("the bus is not broken")
            return
        }
        #expect(error.message.contains("the system bus does not answer"))
        _ = machine.received(Array("OK 1\r\n".utf8)[...], now: start.advanced(by: .seconds(5)), clock: UnixTime(0))
        #expect(machine.deadline == start.advanced(by: .seconds(65)), "the deadline of the first call")
    }

    @Test func aSilentBusAndASilentGeoClueAreBroken() throws {
        var machine = GeoClueStateMachine(name: "GeoClue", resolution: nil)
        #expect(machine.deadline == nil)
        let start = MonotonicTime(.zero)
        let hello = machine.received(Array("OK 1\r\n".utf8)[...], now: start, clock: UnixTime(0))
        #expect(try DBusMessage(self.bytes(hello)[1]).member == "Hello")
        #expect(machine.timerFired(now: start.advanced(by: .seconds(59))) == [])
        let deadline = try #require(machine.deadline)
        guard case .fail(let error)? = machine.timerFired(now: deadline).first else {
            Issue.record("the bus is not broken")
            return
        }
        #expect(error.message.contains("the system bus does not answer"))
    }

    private func position(_ change: (inout [String: DBusValue]) -> Void) throws -> Location {
        var values: [String: DBusValue] = ["Latitude": .double(52), "Longitude": .double(13)]
        change(&values)
        let entries = values.map { DBusValue.members([.text($0.key), $0.value]) }
        return try GeoCluePosition.fix(.members(entries), clock: UnixTime(9))
    }

    @Test func valuesOfPositionsAreChecked() throws {
        #expect(try self.position { _ in }.time == UnixTime(9))
        let full = try self.position {
            $0["Timestamp"] = .members([.unsigned(1_700_000_000), .unsigned(500_000)])
            $0["Accuracy"] = .double(30)
            $0["Speed"] = .double(4)
            $0["Heading"] = .double(359)
            $0["Altitude"] = .double(100)
        }
        #expect(full.time == UnixTime(1_700_000_000.5) && full.accuracyHorizontal == 30)
        #expect(full.speed == 4 && full.bearing == 359 && full.altitude == nil)
        let odd = try self.position {
            $0["Timestamp"] = .members([.unsigned(.max), .unsigned(1)])
            $0["Accuracy"] = .double(.nan)
            $0["Speed"] = .double(0)
            $0["Heading"] = .double(10)
        }
        #expect(odd.time == UnixTime(9) && odd.accuracyHorizontal == nil && odd.bearing == nil)
        #expect(throws: TrackingError.self) { try self.position { $0["Latitude"] = .double(91) } }
        #expect(throws: TrackingError.self) { try self.position { $0["Longitude"] = .text("13") } }
    }
}
