import Testing

@testable import TrackingCore

@Suite struct LocationFilterTests {
    private func filter(
        every milliseconds: Int64 = 1_000, moving displacement: Meters = 10, rule: FilterRule = .both,
        silence: Duration? = nil
    ) -> LocationFilter {
        var filter = LocationFilter(
            resolution: Resolution(.high, every: milliseconds, moving: displacement), rule: rule,
            maximumSilence: silence)
        filter.sent(.fix(at: 0), now: .seconds(0))
        return filter
    }

    /// The verdict on a fix that arrives at its own time.
    private func verdict(_ filter: LocationFilter, north: Double, at seconds: Double) -> LocationFilter.Verdict {
        filter.consider(.fix(north: north, at: seconds), now: .seconds(seconds), wallClock: nil)
    }

    @Test func theFirstFixIsSent() {
        let filter = LocationFilter(resolution: .standard)
        #expect(self.verdict(filter, north: 0, at: 0) == .first)
        #expect(self.verdict(filter, north: 0, at: 0) == .first)  // considering is not sending
    }

    @Test func bothAsksForTheIntervalAndTheDisplacement() {
        let filter = self.filter()
        #expect(self.verdict(filter, north: 5, at: 0.5) == .tooSoon)
        #expect(self.verdict(filter, north: 50, at: 0.5) == .tooSoon)
        #expect(self.verdict(filter, north: 5, at: 2) == .tooClose)
        #expect(self.verdict(filter, north: 50, at: 2) == .sent)
    }

    @Test func eitherAsksForOneOfThem() {
        let filter = self.filter(rule: .either)
        #expect(self.verdict(filter, north: 5, at: 0.5) == .tooSoon)
        #expect(self.verdict(filter, north: 50, at: 0.5) == .sent)
        #expect(self.verdict(filter, north: 5, at: 2) == .sent)
        #expect(self.verdict(filter, north: 50, at: 2) == .sent)
    }

    @Test func bothIsTheDefault() {
        #expect(LocationFilter(resolution: .standard).rule == .both)
    }

    @Test func theDisplacementItselfSuffices() {
        let distance = Location.fix(at: 0).coordinate.distance(to: Location.fix(north: 10, at: 0).coordinate)
        #expect(self.verdict(self.filter(moving: distance), north: 10, at: 2) == .sent)
        #expect(self.verdict(self.filter(moving: Meters(distance.value.nextUp)), north: 10, at: 2) == .tooClose)
    }

    @Test func aParkedTrackableWithoutDisplacementIsSentByTimeAlone() {
        #expect(self.verdict(self.filter(moving: 0), north: 0, at: 1) == .sent)
    }

    // MARK: The tolerance

    @Test func aTenthOfTheIntervalIsTolerated() {
        let filter = self.filter(every: 500, moving: 0)
        #expect(self.verdict(filter, north: 0, at: 0.449) == .tooSoon)
        #expect(self.verdict(filter, north: 0, at: 0.451) == .sent)
    }

    @Test func atMostAHundredMillisecondsAreTolerated() {
        let filter = self.filter(every: 10_000, moving: 0)
        #expect(self.verdict(filter, north: 0, at: 9.899) == .tooSoon)
        #expect(self.verdict(filter, north: 0, at: 9.901) == .sent)
    }

    @Test func aSensorAtOneHertzWithJitterIsNotHalved() {
        var generator = SplitMix64(seed: 7)
        var filter = LocationFilter(resolution: Resolution(.high, every: 1_000, moving: 0))
        var sent = 0
        for second in 0..<200 {
            let fix = Location.fix(at: Double(second) + .random(in: -0.04...0.04, using: &generator))
            guard filter.consider(fix, now: .seconds(Double(second)), wallClock: nil).isSent else { continue }
            filter.sent(fix, now: .seconds(Double(second)))
            sent += 1
        }
        #expect(sent == 200)
    }

    @Test func theIntervalIsBetweenTheFixesOwnTimes() {
        let filter = self.filter(moving: 0)
        // The fix arrived late, but its time is half a second after the last one. The second case is the reverse.
        #expect(filter.consider(.fix(at: 0.5), now: .seconds(30), wallClock: nil) == .tooSoon)
        #expect(filter.consider(.fix(at: 5), now: .seconds(0.1), wallClock: nil) == .sent)
    }

    // MARK: Silence

    @Test func afterTheSilenceAnyFixIsSent() {
        let filter = self.filter(every: 1_000, moving: 1_000)
        #expect(self.verdict(filter, north: 0, at: 59.9) == .tooClose)
        #expect(self.verdict(filter, north: 0, at: 60) == .silence)
        #expect(filter.consider(.fix(at: 0.1), now: .seconds(60), wallClock: nil) == .silence)  // too soon
        #expect(filter.consider(.fix(at: -5), now: .seconds(60), wallClock: nil) == .silence)  // out of order
    }

    @Test func silenceIsMeasuredOnTheMonotonicClock() {
        let filter = self.filter(every: 1_000, moving: 1_000)
        #expect(filter.consider(.fix(at: 3_600), now: .seconds(59), wallClock: nil) == .tooClose)
    }

    @Test func theDefaultSilenceIsTheLargerOfAMinuteAndTenIntervals() {
        #expect(self.filter(every: 1_000).effectiveMaximumSilence == .seconds(60))
        #expect(self.filter(every: 6_000).effectiveMaximumSilence == .seconds(60))
        #expect(self.filter(every: 30_000).effectiveMaximumSilence == .seconds(300))
    }

    @Test func theDefaultSilenceFollowsTheDevicesOwnResolutionAlone() {
        var filter = self.filter(every: 1_000)
        filter.resolution = Resolution(.low, every: 600_000, moving: 1_000)
        #expect(filter.effectiveMaximumSilence == .seconds(60), "a request is not the device's own")
        filter.ownInterval = .seconds(30)
        #expect(filter.effectiveMaximumSilence == .seconds(300))
        #expect(filter.silenceDeadline == .seconds(300))
    }

    @Test func anExplicitSilenceIsUsed() {
        let filter = self.filter(every: 30_000, moving: 1_000, silence: .seconds(5))
        #expect(filter.effectiveMaximumSilence == .seconds(5))
        #expect(self.verdict(filter, north: 0, at: 5) == .silence)
    }

    @Test func aSilenceOfZeroIsNever() {
        let filter = self.filter(every: 1_000, moving: 1_000, silence: .zero)
        #expect(filter.effectiveMaximumSilence == .zero)
        #expect(filter.silenceDeadline == nil)
        #expect(self.verdict(filter, north: 0, at: 100_000) == .tooClose)
    }

    @Test func theDeadlineIsWhenTheLastUpdateIsPublishedAgain() {
        var filter = self.filter()
        #expect(filter.silenceDeadline == .seconds(60))
        filter.sent(.fix(at: 0), now: .seconds(60))  // again, unchanged
        #expect(filter.silenceDeadline == .seconds(120))
        #expect(LocationFilter(resolution: .standard).silenceDeadline == nil)
    }

    // MARK: Order

    @Test func aFixOlderThanTheLastSentIsOutOfOrder() {
        let filter = self.filter(every: 0, moving: 0)
        #expect(self.verdict(filter, north: 500, at: -0.001) == .outOfOrder)
        #expect(self.verdict(filter, north: 0, at: 0) == .sent)  // not older
        #expect(self.verdict(self.filter(rule: .either), north: 500, at: -1) == .outOfOrder)
    }

    @Test func theReferenceIsTheLastSentNotTheLastConsidered() {
        var filter = self.filter(every: 1_000, moving: 10)
        #expect(self.verdict(filter, north: 6, at: 2) == .tooClose)
        #expect(self.verdict(filter, north: 12, at: 3) == .sent)  // 12 m from the sent one, 6 m from the skipped one
        filter.sent(.fix(north: 12, at: 3), now: .seconds(3))
        #expect(self.verdict(filter, north: 18, at: 4) == .tooClose)
    }

    // MARK: The clock

    @Test func aFixAMinuteAheadOfTheClockIsNotLive() {
        let wall = Location.fix(at: 0).time
        let fresh = LocationFilter(resolution: .standard)
        #expect(fresh.consider(.fix(at: 60.1), now: .seconds(0), wallClock: wall) == .notLive)
        #expect(fresh.consider(.fix(at: 60), now: .seconds(0), wallClock: wall) == .first)
        #expect(self.filter().consider(.fix(at: 60.1), now: .seconds(900), wallClock: wall) == .notLive)  // not silence
    }

    @Test func withoutATrustedClockNothingIsAhead() {
        let fresh = LocationFilter(resolution: .standard)
        #expect(fresh.consider(.fix(at: 1e9), now: .seconds(0), wallClock: nil) == .first)
    }

    @Test func whenTheClockIsSteppedTheReferenceIsDropped() {
        var filter = self.filter()
        #expect(self.verdict(filter, north: 0, at: -86_400) == .outOfOrder)
        filter.clockStepped()
        #expect(self.verdict(filter, north: 0, at: -86_400) == .first)
        #expect(filter.silenceDeadline == .seconds(60))  // silence is the monotonic clock's
    }

    @Test func eachVerdictDecidesWhetherTheFixIsSent() {
        #expect(LocationFilter.Verdict.allCases.filter(\.isSent) == [.first, .silence, .sent])
    }

    // MARK: Properties

    @Test(arguments: UInt64(1)...6, FilterRule.allCases)
    func noTwoConsecutiveSentFixesBreakTheRule(seed: UInt64, rule: FilterRule) {
        var generator = SplitMix64(seed: seed)
        var filter = LocationFilter(resolution: .random(using: &generator), rule: rule)
        var last: (fix: Location, now: Double)?
        var place = Location.origin
        for step in 0..<3_000 {
            let now = Double(step) * 0.5
            if step % 300 == 299 {
                filter.resolution = .random(using: &generator)
                filter.ownInterval = Resolution.random(using: &generator).desiredInterval
            }
            place = place.destination(
                bearing: .random(in: 0..<360, using: &generator),
                distance: Meters(.random(in: 0...8, using: &generator)))
            let jitter = Double.random(in: -0.7...0.3, using: &generator)
            let fix = Location(coordinate: place, time: UnixTime(1_700_000_000 + now + jitter))
            let verdict = filter.consider(fix, now: .seconds(now), wallClock: UnixTime(1_700_000_000 + now))
            self.check(verdict, on: fix, now: now, after: last, filter: filter)
            guard verdict.isSent else { continue }
            filter.sent(fix, now: .seconds(now))
            last = (fix, now)
        }
    }

    /// Compares a verdict with the rules of the reference page, with seconds and metres as plain numbers.
    private func check(
        _ verdict: LocationFilter.Verdict, on fix: Location, now: Double, after last: (fix: Location, now: Double)?,
        filter: LocationFilter
    ) {
        guard let last else {
            #expect(verdict == .first)
            return
        }
        let interval = Double(filter.resolution.desiredInterval.inMilliseconds) / 1000
        let apart = fix.time.seconds - last.fix.time.seconds
        let isLater = apart >= interval - min(interval / 10, 0.1) - 1e-9
        let isFarther =
            fix.coordinate.distance(to: last.fix.coordinate).value >= filter.resolution.minimumDisplacement.value
        let isMet = filter.rule == .both ? isLater && isFarther : isLater || isFarther
        let isSilent = now - last.now >= max(60, 10 * filter.ownInterval.inSeconds)
        switch verdict {
        case .sent: #expect(isMet && apart >= 0 && !isSilent)
        case .silence: #expect(isSilent)
        case .outOfOrder: #expect(apart < 0 && !isSilent)
        case .tooSoon: #expect(!isSilent && !isMet && apart < interval)
        case .tooClose: #expect(!isSilent && isLater && !isFarther && filter.rule == .both)
        case .first, .notLive: Issue.record("\(verdict) in the middle of a walk")
        }
    }

    @Test func aRepeatEndsASilenceAndIsNoReference() throws {
        var filter = self.filter(every: 100_000, moving: 0, silence: .seconds(60))
        filter.repeated(now: .seconds(60))
        #expect(filter.silenceDeadline == .seconds(120))
        #expect(self.verdict(filter, north: 0, at: 61) == .tooSoon)
        #expect(self.verdict(filter, north: 0, at: 119) == .sent)
        filter.clockStepped()
        filter.repeated(now: .seconds(120))
        #expect(self.verdict(filter, north: 0, at: 121) == .first)
    }
}
