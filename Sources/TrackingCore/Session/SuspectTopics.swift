/// Finds the topics and filters to which a broker responds by closing the connection, and sets them aside
/// (docs/reference/protocol.md, "Members and leases").
///
/// Names that were unanswered when the broker closed the connection twice in a row are sent alone from then on, so that
/// the third close identifies the cause. A name with three closes in a row is set aside for a while and then tried once
/// more, because rights may have been granted meanwhile. An answer clears a name.
public struct SuspectTopics: Sendable {
    /// The decision about a topic or filter.
    public enum Verdict: Hashable, Sendable {
        /// Send it without a restriction.
        case send
        /// Send it when no other request is unanswered, and send nothing else until it is answered.
        case sendAlone
        /// Do not send it: the name is set aside.
        case refuse(TrackingError)
    }

    private struct Suspect {
        var closes = 0
        var backoff = Backoff(first: SuspectTopics.firstSetAside, maximum: SuspectTopics.longestSetAside)
        var until: MonotonicTime?
    }

    /// The number of closes in a row after which a name is set aside.
    public static let patience = 3
    /// The first time for which a name is set aside. Each further close doubles it.
    public static let firstSetAside: Duration = .seconds(30)
    /// The longest time for which a name is set aside.
    public static let longestSetAside: Duration = .seconds(15 * 60)
    /// The largest number of remembered names. Further names are not suspected.
    static let maximumNames = 10_000

    private var suspects: [String: Suspect] = [:]

    /// Creates a value without suspects.
    public init() {}

    /// `true` when no name is suspected.
    public var isEmpty: Bool { self.suspects.isEmpty }

    /// Returns the decision about a topic or filter at this time.
    public func verdict(on name: String, now: MonotonicTime) -> Verdict {
        guard let suspect = self.suspects[name], suspect.closes >= Self.patience - 1 else { return .send }
        guard let until = suspect.until, now < until else { return .sendAlone }
        return .refuse(
            TrackingError(
                .notAuthorized,
                """
                '\(name)' is set aside for \(suspect.backoff.wait(after: suspect.backoff.failures).components.seconds) s: the broker closed the connection \
                after it \(Self.patience) times running, as some do where their rules forbid a topic
                """))
    }

    /// The broker answered a request with this name, whether it accepted or refused it.
    public mutating func answered(_ name: String) { self.suspects[name] = nil }

    /// The broker closed the connection while requests with these names were unanswered.
    ///
    /// - Returns: The names that are newly set aside.
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
