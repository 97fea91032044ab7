import Testing

@testable import TrackingCore

/// The times at which a connected client asks for new credentials.
@Suite struct CredentialRenewalTests {
    private static func moment(_ seconds: Double) -> MonotonicTime { MonotonicTime(.seconds(seconds)) }

    /// A renewal on a connection whose credentials were received at 0 s.
    private static func connected(expiring seconds: Double) -> CredentialRenewal {
        var renewal = CredentialRenewal(answerTimeout: .seconds(15))
        renewal.prepare(expiry: self.moment(seconds), now: self.moment(0))
        renewal.connected()
        return renewal
    }

    @Test(
        arguments: [
            (5, 4.5), (60, 54), (600, 540), (601, 541), (3_600, 3_540), (1e11, 1e11 - 60),
        ] as [(Double, Double)])
    func theQuestionIsATenthOfTheLifetimeEarlyAndSixtySecondsAtMost(lifetime: Double, question: Double) {
        #expect(Self.connected(expiring: lifetime).nextDeadline == Self.moment(question))
    }

    @Test(arguments: [4.9, 0, -1, -1e11]) func shortOrExpiredCredentialsAreNotRenewed(lifetime: Double) {
        #expect(Self.connected(expiring: lifetime).nextDeadline == nil)
    }

    @Test func credentialsWithoutExpiryAreNotRenewed() {
        var renewal = CredentialRenewal(answerTimeout: .seconds(15))
        renewal.prepare(expiry: nil, now: Self.moment(0))
        renewal.connected()
        #expect(renewal.nextDeadline == nil)
    }

    /// The questions halve the remaining time, are at least a second apart, and end at the expiry.
    @Test func theSameAnswerIsAskedForAgainUntilTheExpiry() throws {
        var renewal = Self.connected(expiring: 100)
        var times: [Double] = []
        while let next = renewal.nextDeadline {
            let isDue = renewal.timerFired(now: next)
            #expect(isDue)
            times.append(next.sinceOrigin.inSeconds)
            renewal.answeredUnchanged(expiry: Self.moment(100), now: next)
        }
        #expect(times == [90, 95, 97.5, 98.75, 99.75, 100.75])
    }

    /// A provider may know that the same password lives longer now.
    @Test func aLaterExpiryOfTheSamePasswordCountsFromNowOn() throws {
        var renewal = Self.connected(expiring: 100)
        _ = renewal.timerFired(now: Self.moment(90))
        renewal.answeredUnchanged(expiry: Self.moment(290), now: Self.moment(90))
        #expect(renewal.nextDeadline == Self.moment(270))
    }

    @Test func aProviderWithoutAnswerIsAskedAgain() throws {
        var renewal = Self.connected(expiring: 1_000)
        _ = renewal.timerFired(now: Self.moment(940))
        #expect(renewal.nextDeadline == Self.moment(955))
        let isDue = renewal.timerFired(now: Self.moment(955))
        #expect(!isDue)
        #expect(renewal.nextDeadline == Self.moment(977.5))
    }
}
