import Testing
import TrackingCore

/// The age of records depends on a clock that may be wrong.
@Suite struct SpoolTrimmingTests {
    private static let now = UnixTime(1_790_000_000)
    private static let week = SpoolLimits(maximumAge: .seconds(7 * 86_400))

    private func verdict(now: UnixTime, time: UnixTime) -> SpoolTrimming.Verdict {
        var trimming = SpoolTrimming(limits: Self.week, count: 10, bytes: 1000, now: now)
        return trimming.consider(bytes: 100, time: time)
    }

    @Test func recordsOlderThanTheLimitAreDropped() {
        #expect(self.verdict(now: Self.now, time: UnixTime(Self.now.seconds - 8 * 86_400)) == .goes)
        #expect(self.verdict(now: Self.now, time: UnixTime(Self.now.seconds - 6 * 86_400)) == .stays)
        #expect(self.verdict(now: Self.now, time: UnixTime(Self.now.seconds + 60)) == .undecided, "of the future")
        #expect(self.verdict(now: Self.now, time: UnixTime(1000)) == .undecided, "of 1970")
    }

    /// Otherwise every append would scan the whole log in vain.
    @Test(arguments: [1000.0, 315_964_801, 1_700_000_000]) func anUnsetClockKnowsNoAges(now: Double) {
        let trimming = SpoolTrimming(limits: Self.week, count: 10, bytes: 1000, now: UnixTime(now))
        #expect(!trimming.mayTrim)
        #expect(self.verdict(now: UnixTime(now), time: Self.now) == .stays)
        let full = SpoolTrimming(limits: SpoolLimits(maximumCount: 9), count: 10, bytes: 1000, now: UnixTime(now))
        #expect(full.mayTrim, "how many there are it knows")
    }

    // MARK: - After a jump

    private func fix(_ time: Double, _ source: SourceKind) throws -> Location {
        var fix = Location(coordinate: try #require(Coordinate(latitude: 0, longitude: 0)), time: UnixTime(time))
        fix.source = source
        return fix
    }

    private static let twentyYears: Duration = .seconds(20 * 365 * 86_400)

    @Test func aForwardJumpIsBelievedOnceAReceiverConfirmsIt() throws {
        var trust = AgeTrust()
        #expect(trust.isGiven)
        trust.clockStepped(by: .seconds(59))
        #expect(trust.isGiven, "no days")
        trust.clockStepped(by: Self.twentyYears)
        #expect(!trust.isGiven)
        let wall = UnixTime(Self.now.seconds + Self.twentyYears.inSeconds)
        trust.moved(try self.fix(Self.now.seconds, .gps), wall: wall)
        #expect(!trust.isGiven, "the receiver says otherwise")
        trust.moved(try self.fix(wall.seconds, .replay), wall: wall)
        #expect(!trust.isGiven, "a recording says nothing")
        trust.moved(try self.fix(wall.seconds, .network), wall: wall)
        #expect(!trust.isGiven, "a network position may have the time of the same clock")
        trust.moved(try self.fix(wall.seconds - 1, .gps), wall: wall)
        #expect(trust.isGiven)
    }

    @Test func aRevertedJumpIsForgotten() {
        var trust = AgeTrust()
        trust.clockStepped(by: .zero - Self.twentyYears)
        #expect(trust.isGiven, "what is of the future does not go")
        trust.clockStepped(by: Self.twentyYears)
        #expect(!trust.isGiven, "whoever was right first")
        trust.clockStepped(by: .zero - Self.twentyYears)
        #expect(trust.isGiven)
    }
}
