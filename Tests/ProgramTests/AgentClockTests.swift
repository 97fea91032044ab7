import ArgumentParser
import GodwitOptions
import Testing
import TrackingCore

@testable import godwit_agent

/// The clock that an agent trusts.
@Suite struct AgentClockTests {
    private func machine() throws -> CaptureStateMachine {
        let run = try Run.parse(["--trackable", "van-7", "--source", "simulate:"])
        return try run.capture.captureMachine
    }

    private func fix(_ time: Double) throws -> Location {
        var fix = Location(coordinate: try #require(Coordinate(latitude: 0, longitude: 1)), time: UnixTime(time))
        fix.source = .gps
        return fix
    }

    /// A clock without a time source begins in 1970, or at the build time of the operating system, as in 2023 and 2025.
    @Test(arguments: [1000, 1_700_000_000, 1_750_000_000.0])
    func aClockFromBeforeTheProgramIsNotSet(wall: Double) throws {
        var machine = try self.machine()
        let moment = Moment(now: MonotonicTime(.zero), wall: UnixTime(wall))
        #expect(machine.stamp(at: moment).basis == .unset)
        let now = 1_790_000_000.0
        _ = machine.moved(try self.fix(now), at: moment)
        let later = Moment(now: MonotonicTime(.seconds(5)), wall: UnixTime(wall + 5))
        let stamp = machine.stamp(at: later)
        #expect(stamp.time == UnixTime(now + 5) && stamp.basis == .receiver)
    }

    @Test func anOldRecordingThroughAReceiverKeepsItsTimes() throws {
        var machine = try self.machine()
        let moment = Moment(now: MonotonicTime(.zero), wall: UnixTime(1_790_000_000))
        #expect(machine.moved(try self.fix(1_000_000_000), at: moment).point?.time == UnixTime(1_000_000_000))
        #expect(machine.stamp(at: moment).basis == .clock)
    }
}
