import Testing

@testable import TrackingCore

@Suite struct BackoffTests {
    @Test func waitsDoubleUpToTheLongest() {
        var backoff = Backoff(first: .seconds(1), maximum: .seconds(30))
        #expect((1...7).map { _ in backoff.next() } == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
        #expect(backoff.failures == 7)
    }

    @Test func aSuccessBeginsWithTheFirstWaitAgain() {
        var backoff = Backoff(first: .seconds(1), maximum: .seconds(30))
        _ = (backoff.next(), backoff.next())
        backoff.reset()
        #expect(backoff.failures == 0)
        #expect(backoff.next() == .seconds(1))
    }

    @Test func aFactorOfOneRepeatsTheFirstWait() {
        var backoff = Backoff(first: .seconds(10), maximum: .seconds(30), factor: 1)
        #expect((1...3).map { _ in backoff.next() } == [.seconds(10), .seconds(10), .seconds(10)])
    }

    @Test(arguments: [0, 1, 2, 1_000_000, Int.max]) func aWaitIsNeverLongerThanTheLongest(failures: Int) {
        let backoff = Backoff(first: .milliseconds(500), maximum: .seconds(60))
        #expect(backoff.wait(after: failures) <= .seconds(60))
        #expect(backoff.wait(after: failures, atMost: .seconds(2)) <= .seconds(2))
    }

    @Test func aFirstWaitAboveTheLongestIsCutOff() {
        #expect(Backoff(first: .seconds(5), maximum: .seconds(2)).wait(after: 1) == .seconds(2))
    }

    @Test func jitterShortensAWaitByItsShareAtTheMost() {
        var (backoff, generator) = (
            Backoff(first: .seconds(1), maximum: .seconds(8), jitter: 0.5), SplitMix64(seed: 7)
        )
        for failures in 1...100 {
            let whole = backoff.wait(after: failures)
            let wait = backoff.next(using: &generator)
            #expect(wait >= whole / 2 && wait <= whole)
        }
    }

    @Test func aLimitForOneWaitReplacesTheLongest() {
        var (backoff, generator) = (Backoff(first: .seconds(1), maximum: .seconds(2)), SplitMix64(seed: 7))
        let waits = (1...4).map { _ in backoff.next(atMost: .seconds(8), using: &generator) }
        #expect(waits == [1, 2, 4, 8].map { .seconds($0) })
    }
}
