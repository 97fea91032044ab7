import Testing

@testable import TrackingCertificate

/// The judgements of a certificate, without a broker.
@Suite struct CertificateTests {
    /// The observations of a broker that has every property, at two addresses.
    private static let perfect: [CertificateCheck: CertificateObservation] = [
        .acknowledged: .delivery(Self.complete), .order: .delivery(Self.complete), .session: .delivery(Self.complete),
        .queue: .delivery(Self.complete), .redelivery: .delivery(Self.complete), .will: .answer(true),
        .closing: .answer(true), .takeover: .answer(true), .retained: .amount(20, of: 20),
        .wildcard: .amount(20, of: 20), .clearing: .amount(0, of: 20),
        .share: .shares([50, 50], distinct: 100, published: 100), .mqtt5: .answer(true), .properties: .answer(true),
        .reasons: .answer(true), .payload: .amount(131_072, of: 131_072), .filters: .amount(200, of: 200),
        .topics: .amount(700, of: 700), .elsewhere: .delivery(Self.complete),
        .retainedElsewhere: .amount(20, of: 20), .takeoverElsewhere: .answer(true),
        .sessionElsewhere: .delivery(Self.complete),
    ]

    private static let complete = MessageDelivery(accepted: [true, true, true], received: [0, 1, 2])

    private func finding(_ check: CertificateCheck, _ observation: CertificateObservation) -> CertificateFinding {
        CertificateFinding(check, observation)
    }

    @Test func aBrokerWithEveryPropertyPassesEveryCheck() {
        let certificate = Certificate(Self.perfect)
        #expect(certificate.isUsable)
        #expect(certificate.findings.map(\.check) == CertificateCheck.allCases)
        #expect(certificate.findings.allSatisfy { $0.verdict == .passed && $0.consequence == nil })
    }

    @Test(arguments: CertificateCheck.allCases) func aMissingPropertyHasAConsequence(check: CertificateCheck) {
        var observations = Self.perfect
        observations[check] = .error("the broker closed the connection")
        let certificate = Certificate(observations)
        let finding = certificate.findings.first { $0.check == check }
        let isRequired = check.isRequired || check.leastAmount != nil
        #expect(finding?.verdict == (isRequired ? .failed : .lacking))
        #expect(finding?.result == "the broker closed the connection")
        #expect(finding?.consequence?.isEmpty == false)
        #expect(certificate.isUsable == !isRequired)
    }

    @Test func anUntriedPropertyIsNoFault() {
        let finding = finding(.elsewhere, .untried("needs a second address"))
        #expect(finding.verdict == .untried && finding.consequence == nil)
        #expect(finding.result == "needs a second address")
        #expect(Certificate([:]).findings.allSatisfy { $0.verdict == .untried })
    }

    @Test func aLostMessageIsNotAWrongOrder() {
        let delivery = MessageDelivery(accepted: [true, true, true, false], received: [0, 2])
        #expect(delivery.lost == 1 && delivery.misplaced == 0)
        let lost = finding(.acknowledged, .delivery(delivery))
        #expect(lost.verdict == .failed)
        #expect(lost.result == "1 of 4 messages not acknowledged, 1 of 3 acknowledged messages lost")
        #expect(finding(.order, .delivery(delivery)).verdict == .passed)
    }

    @Test func aWrongOrderIsNotALoss() {
        let delivery = MessageDelivery(accepted: [true, true, true], received: [1, 0, 2])
        #expect(finding(.acknowledged, .delivery(delivery)).verdict == .passed)
        let order = finding(.order, .delivery(delivery))
        #expect(order.verdict == .failed && order.result == "out of order: 1")
    }

    @Test func aRepeatedMessageIsNoFault() {
        let delivery = MessageDelivery(accepted: [true, true, true], received: [0, 1, 0, 1, 2, 7])
        #expect(delivery.repeated == 2 && delivery.isComplete)
        #expect(finding(.redelivery, .delivery(delivery)).result == "3 messages arrived, in order, 2 repeated")
    }

    @Test func aShortQueueIsALimitAndAnEmptyOneAFault() {
        let short = MessageDelivery(accepted: [true, true, true], received: [0])
        #expect(finding(.session, .delivery(short)).verdict == .passed)
        #expect(finding(.queue, .delivery(short)).verdict == .lacking)
        let none = MessageDelivery(accepted: [true, true, true], received: [])
        #expect(finding(.session, .delivery(none)).verdict == .failed)
    }

    @Test func keptMessagesInAWrongOrderAreAWrongOrderAndNoLimitOfTheQueue() {
        var observations = Self.perfect
        let kept = MessageDelivery(accepted: [true, true, true], received: [2, 0, 1])
        observations[.session] = .delivery(kept)
        observations[.queue] = .delivery(kept)
        let certificate = Certificate(observations)
        #expect(certificate.findings.filter { $0.verdict != .passed }.map(\.check) == [.order])
        #expect(certificate.findings.first { $0.check == .order }?.result == "out of order: 2")
        #expect(!certificate.isUsable)
    }

    @Test(arguments: [
        ([0, 0], 0, "granted, but no message is delivered"),
        ([100, 100], 100, "ignored: the members received 200 messages of 100"),
        ([100, 0], 100, "granted, but one member received all 100 messages"),
        ([48, 50], 98, "granted, but 2 of 100 messages are lost"),
    ])
    func aSharedSubscriptionThatDoesNotDivideIsNamed(shares: [Int], distinct: Int, result: String) {
        let finding = finding(.share, .shares(shares, distinct: distinct, published: 100))
        #expect(finding.verdict == .lacking && finding.result == result)
    }

    @Test(arguments: [
        (CertificateCheck.payload, 131_072, CertificateFinding.Verdict.passed), (.payload, 32_768, .lacking),
        (.payload, 4_096, .failed), (.filters, 13, .lacking), (.filters, 8, .failed), (.topics, 250, .lacking),
        (.topics, 0, .failed),
    ])
    func aSmallLimitIsAFaultBelowTheLeastAmount(
        check: CertificateCheck, amount: Int, verdict: CertificateFinding.Verdict
    ) {
        #expect(finding(check, .amount(amount, of: check == .payload ? 131_072 : 700)).verdict == verdict)
    }

    @Test func lostRetainedMessagesAreCounted() {
        #expect(finding(.retained, .amount(16, of: 20)).result == "4 of 20 lost")
        #expect(finding(.wildcard, .amount(0, of: 20)).result == "none delivered")
        #expect(finding(.clearing, .amount(3, of: 20)).result == "3 of 20 still delivered")
        #expect(finding(.clearing, .amount(3, of: 20)).verdict == .failed)
    }
}
