/// Finds the topics and topic filters to which a broker responds by closing the connection, and refuses to send them
/// for a while (docs/reference/protocol.md, "Members and leases").
///
/// Some brokers close the connection when a client lacks the right to a topic. Requests that were unanswered at two
/// closes in a row are sent alone from then on, so that the third close identifies the topic. A topic with three closes
/// in a row is set aside for a while and then tried again, because rights may have been granted meanwhile. Any answer
/// to a request ends the suspicion against its topic.
public struct SuspectTopics: Sendable {
    /// The decision whether a request for a topic or filter may be sent now.
    public enum Verdict: Hashable, Sendable {
        /// Send the request without a restriction.
        case send
        /// Send the request only when no other request is unanswered, and send nothing else until the broker answers
        /// it.
        case sendAlone
        /// Do not send the request: its topic or filter is set aside for now.
        case refuse(TrackingError)
    }

    private struct Suspect {
        var closes = 0
        var backoff = Backoff(first: SuspectTopics.firstSetAside, maximum: SuspectTopics.longestSetAside)
        var until: MonotonicTime?
    }

    /// The number of connections closed in a row by the broker after which a topic or filter is set aside.
    public static let patience = 3
    /// The time for which a topic or filter is set aside at first. Each further close doubles it.
    public static let firstSetAside: Duration = .seconds(30)
    /// The longest time for which a topic or filter is set aside.
    public static let longestSetAside: Duration = .seconds(15 * 60)
    /// The maximum number of remembered topics and filters. Further ones are not suspected.
    static let maximumNames = 10_000

    private var suspects: [String: Suspect] = [:]

    /// Creates a value that suspects no topic.
    public init() {}

    /// `true` when no topic or filter is suspected.
    public var isEmpty: Bool { self.suspects.isEmpty }

    /// Returns the decision whether a request for this topic or filter may be sent at `now`.
    public func verdict(on name: String, now: MonotonicTime) -> Verdict {
        guard let suspect = self.suspects[name], suspect.closes >= Self.patience - 1 else { return .send }
        guard let until = suspect.until, now < until else { return .sendAlone }
        let wait = suspect.backoff.wait(after: suspect.backoff.failures).components.seconds
        return .refuse(
            TrackingError(
                .notAuthorized,
                """
                cannot use '\(name)' for \(wait) s: the broker closed the connection \(Self.patience) times in a row \
                after this topic or filter. Grant the right to it at the broker
                """))
    }

    /// Ends the suspicion against a topic or filter, because the broker answered a request for it, positively or
    /// negatively.
    public mutating func answered(_ name: String) { self.suspects[name] = nil }

    /// Handles that the broker closed the connection while requests with these topics or filters were unanswered.
    ///
    /// - Returns: The topics and filters that are newly set aside.
    public mutating func closed(unanswered: some Sequence<String>, now: MonotonicTime) -> [String] {
        let names = Set(unanswered)
        // Of several names, the cause is unknown.
        let most = names.count == 1 ? Self.patience : Self.patience - 1
        var setAside: [String] = []
        for name in names where self.suspects[name] != nil || self.suspects.count < Self.maximumNames {
            var suspect = self.suspects[name] ?? Suspect()
            suspect.closes = max(suspect.closes, min(suspect.closes + 1, most))
            if suspect.closes == Self.patience {
                suspect.until = now.advanced(by: suspect.backoff.next())
                setAside.append(name)
            }
            self.suspects[name] = suspect
        }
        return setAside
    }
}
