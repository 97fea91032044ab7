import Testing

@testable import TrackingCore

@Suite struct ResolutionDamperTests {
    private let calm = Resolution(.balanced, every: 30_000, moving: 0)
    private let eager = Resolution(.high, every: 1_000, moving: 0)
    private let coarse = Resolution(.minimum, every: 600_000, moving: 1_000)

    @Test func theFirstChangeAfterAQuietSecondTakesEffectAtOnce() {
        var damper = ResolutionDamper(self.calm)
        #expect(damper.decided(self.eager, now: .seconds(5)) == self.eager)
        #expect(damper.decided(self.coarse, now: .seconds(6)) == self.coarse)
        #expect(damper.current == self.coarse && damper.nextDeadline == nil)
    }

    @Test func withinASecondTheLatestDecisionWaitsForTheEndOfThePause() {
        var damper = ResolutionDamper(self.calm)
        _ = damper.decided(self.eager, now: .seconds(5))
        #expect(damper.decided(self.coarse, now: .seconds(5.2)) == nil)
        #expect(damper.decided(self.calm, now: .seconds(5.4)) == nil)
        #expect(damper.current == self.eager && damper.nextDeadline == .seconds(6))
        #expect(damper.timerFired(now: .seconds(5.999)) == nil)
        #expect(damper.timerFired(now: .seconds(6)) == self.calm)
        // This change begins a pause as well.
        #expect(damper.decided(self.eager, now: .seconds(6.9)) == nil)
        #expect(damper.nextDeadline == .seconds(7))
    }

    @Test func aDecisionThatReturnsToTheResolutionInForceIsNoChange() {
        var damper = ResolutionDamper(self.calm)
        _ = damper.decided(self.eager, now: .seconds(5))
        _ = damper.decided(self.coarse, now: .seconds(5.1))
        #expect(damper.decided(self.eager, now: .seconds(5.2)) == nil)
        #expect(damper.nextDeadline == nil)
        #expect(damper.timerFired(now: .seconds(6)) == nil)
        // Nothing changed in the last second: the next change is immediate.
        #expect(damper.decided(self.calm, now: .seconds(6.1)) == self.calm)
    }

    @Test(arguments: UInt64(1)...4) func noTwoChangesAreWithinASecond(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        var damper = ResolutionDamper(self.calm)
        var now = MonotonicTime(.zero)
        var changes: [MonotonicTime] = []
        var latest = self.calm
        for _ in 0..<5_000 {
            now = now.advanced(by: .milliseconds(Int.random(in: 0...20, using: &generator)))
            latest = Resolution.random(using: &generator)
            if damper.decided(latest, now: now) != nil { changes.append(now) }
            if damper.timerFired(now: now) != nil { changes.append(now) }
        }
        for (before, after) in zip(changes, changes.dropFirst()) {
            #expect(before.duration(to: after) >= .seconds(1))
        }
        #expect(changes.count >= 20)
        #expect(damper.timerFired(now: now.advanced(by: .seconds(1))) ?? damper.current == latest)
    }
}
