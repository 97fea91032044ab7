/// The judgement on a broker: a finding for each check, and if Godwit may be used on the broker.
///
/// The certificate is a value that follows from observations alone. ``Certification`` makes the observations.
public struct Certificate: Hashable, Sendable {
    /// The findings, one for each check, in the order of the checks.
    public let findings: [CertificateFinding]

    /// Judges the observations of a broker. A check without an observation counts as not tried.
    public init(_ observations: [CertificateCheck: CertificateObservation]) {
        let observations = Self.withKeptOrder(observations)
        self.findings = CertificateCheck.allCases.map { check in
            CertificateFinding(check, observations[check] ?? .untried("not tried"))
        }
    }

    /// `true` if the broker has every property that Godwit requires. The broker may lack others.
    public var isUsable: Bool { !self.findings.contains { $0.verdict == .failed } }

    /// Returns observations in which `order` includes the messages that the broker kept for an absent client.
    private static func withKeptOrder(
        _ observations: [CertificateCheck: CertificateObservation]
    ) -> [CertificateCheck: CertificateObservation] {
        var observations = observations
        if case .delivery(let kept)? = observations[.session], kept.misplaced > 0,
            case .delivery(let direct)? = observations[.order], direct.misplaced == 0
        {
            observations[.order] = .delivery(kept)
        }
        return observations
    }
}

/// The result of one check of a certificate.
public struct CertificateFinding: Hashable, Sendable {
    /// The judgement on one property of a broker.
    public enum Verdict: String, Hashable, Sendable {
        /// The broker has the property.
        case passed
        /// The broker lacks the property. Godwit may be used, with a consequence.
        case lacking
        /// The broker lacks the property, and Godwit must not be used on it.
        case failed
        /// The property was not tried.
        case untried
    }

    /// The check that was made.
    public let check: CertificateCheck
    /// The judgement of the check.
    public let verdict: Verdict
    /// The facts behind the judgement, such as `2996 of 3000 messages arrived`.
    public let result: String
    /// The effect on Godwit; `nil` if the check passed or was not tried.
    public let consequence: String?

    /// Judges one observation.
    init(_ check: CertificateCheck, _ observation: CertificateObservation) {
        let judgement = CertificateJudgement(check, observation)
        self.check = check
        self.verdict = judgement.verdict
        self.result = judgement.result
        self.consequence = [.lacking, .failed].contains(judgement.verdict) ? check.consequence : nil
    }
}

/// The rules by which an observation becomes a verdict.
struct CertificateJudgement {
    let verdict: CertificateFinding.Verdict
    let result: String

    init(_ check: CertificateCheck, _ observation: CertificateObservation) {
        let isPassed: Bool
        var isRequired = check.isRequired
        switch observation {
        case .untried(let reason):
            (self.verdict, self.result) = (.untried, reason)
            return
        case .error(let reason):
            (isPassed, self.result) = (false, reason)
            isRequired = isRequired || check.leastAmount != nil
        case .answer(let isTrue):
            (isPassed, self.result) = (isTrue, isTrue ? "yes" : "no")
        case .delivery(let delivery):
            (isPassed, self.result) = (check.isMet(by: delivery), check.text(delivery))
        case .amount(let count, let total):
            isPassed = check == .clearing ? count == 0 : count >= total
            self.result = check.text(count, of: total)
            if let least = check.leastAmount { isRequired = count < least }
        case .shares(let shares, let distinct, let published):
            isPassed = distinct == published && shares.reduce(0, +) == published && !shares.contains(0)
            self.result = Self.text(shares, distinct: distinct, published: published)
        }
        self.verdict = isPassed ? .passed : isRequired ? .failed : .lacking
    }

    private static func text(_ shares: [Int], distinct: Int, published: Int) -> String {
        let total = shares.reduce(0, +)
        if total == 0 { return "granted, but no message is delivered" }
        if distinct < published { return "granted, but \(published - distinct) of \(published) messages are lost" }
        if total > published { return "ignored: the members received \(total) messages of \(published)" }
        if shares.contains(0) { return "granted, but one member received all \(published) messages" }
        return "\(published) messages divided into \(shares.map(String.init).joined(separator: " and "))"
    }
}

extension CertificateCheck {
    /// Returns `true` if the delivery of numbered messages meets this check. `acknowledged` and `queue` ignore the
    /// order, and `order` ignores lost messages.
    fileprivate func isMet(by delivery: MessageDelivery) -> Bool {
        switch self {
        case .acknowledged, .queue: delivery.accepted == delivery.published && delivery.lost == 0
        case .order: delivery.misplaced == 0
        case .session: delivery.lost < delivery.accepted
        default: delivery.isComplete
        }
    }

    fileprivate func text(_ delivery: MessageDelivery) -> String {
        var facts: [String] = []
        if delivery.accepted < delivery.published {
            facts.append("\(delivery.published - delivery.accepted) of \(delivery.published) messages not acknowledged")
        }
        if self != .order {
            // At another address, the messages are not lost: the first address keeps them.
            let word = self == .sessionElsewhere ? "not delivered" : "lost"
            let lost = "\(delivery.lost) of \(delivery.accepted) acknowledged messages \(word)"
            facts.append(delivery.lost > 0 ? lost : "\(delivery.accepted) messages arrived")
        }
        if ![.acknowledged, .session].contains(self) {
            let misplaced = "out of order: \(delivery.misplaced)"
            facts.append(delivery.misplaced > 0 ? misplaced : delivery.lost < delivery.accepted ? "in order" : "")
        }
        if delivery.repeated > 0 { facts.append("\(delivery.repeated) repeated") }
        let text = facts.filter { !$0.isEmpty }.joined(separator: ", ")
        return text.isEmpty ? "no message arrived" : text
    }

    fileprivate func text(_ count: Int, of total: Int) -> String {
        switch self {
        case .clearing: count == 0 ? "cleared" : "\(count) of \(total) still delivered"
        case .payload, .topics: "up to \(count) of \(total) bytes"
        case .filters: "up to \(count) of \(total) filters"
        case .retained, .wildcard, .retainedElsewhere:
            count == 0 ? "none delivered" : count < total ? "\(total - count) of \(total) lost" : "\(total) delivered"
        default: "\(count) of \(total)"
        }
    }
}
