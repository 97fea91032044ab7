/// Finds the topics and topic filters that make the broker close the connection, and stops using them for a while
/// (docs/reference/protocol.md, "Members and leases").
///
/// Some brokers close the connection when a client lacks the right to a topic. A topic that was unanswered at two
/// closes in a row is suspected, and from then on sent alone. A third close then identifies it. It is not used for a
/// while and then tried again. Any answer of the broker to a topic ends the suspicion against it.
public struct SuspectTopics: Sendable {
    /// The decision whether the client may send a request (a publish or a subscription) for a topic or filter now.
    public enum Verdict: Hashable, Sendable {
        /// The client may send the request now, even while other requests are unanswered.
        case send
        /// The client may send the request, but only while no other request is unanswered. Afterwards, the client sends
        /// nothing else until the broker has answered this request.
        case sendAlone
        /// The client must not send the request, because its topic or filter is not to be used for a while.
        case refuse(TrackingError)
    }

    private struct Suspect {
        var closes = 0
        var backoff = Backoff(first: SuspectTopics.firstSetAside, maximum: SuspectTopics.longestSetAside)
        var until: MonotonicTime?
    }

    /// The number of closed connections, each with an unanswered request for a topic or filter, after which the client
    /// does not use that topic or filter for a while: 3.
    public static let patience = 3
    /// The time for which the client does not use a topic or filter after it was identified as the cause of closed
    /// connections: 30 s. Each further close of the connection for which it may be the cause doubles the time.
    public static let firstSetAside: Duration = .seconds(30)
    /// The longest time for which the client does not use a topic or filter that made the broker close the connection:
    /// 15 minutes.
    public static let longestSetAside: Duration = .seconds(15 * 60)
    /// The maximum number of topics and filters that are remembered because their requests were unanswered when the
    /// broker closed the connection. Further ones are not remembered.
    static let maximumNames = 10_000

    private var suspects: [String: Suspect] = [:]

    /// Creates the state of a client that suspects no topic or filter.
    public init() {}

    /// `true` when the client remembers no topic or filter whose request was unanswered when the broker closed the
    /// connection.
    public var isEmpty: Bool { self.suspects.isEmpty }

    /// Returns the decision whether the client may send a request for this topic or filter at `now`.
    public func verdict(on name: String, now: MonotonicTime) -> Verdict {
        guard let suspect = self.suspects[name], suspect.closes >= Self.patience - 1 else { return .send }
        guard let until = suspect.until, now < until else { return .sendAlone }
        let wait = suspect.backoff.wait(after: suspect.backoff.failures).components.seconds
        return .refuse(
            TrackingError(
                .notAuthorized,
                """
                cannot use '\(name)' for \(wait) s: the broker closed the connection \(Self.patience) times in a row \
                after the client had used this topic or filter. Grant the right to it at the broker
                """))
    }

    /// Ends the suspicion against a topic or filter, because the broker answered a request for it, positively or
    /// negatively.
    public mutating func answered(_ name: String) { self.suspects[name] = nil }

    /// Handles that the broker closed the connection. `unanswered` contains the topics and filters of the requests that
    /// it had not answered.
    ///
    /// - Returns: The topics and filters that are not to be used for a while from now on.
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
