/// Finds the topics and filters that a broker answers by closing the connection, and sets them aside (docs/protocol.md,
/// "A refusal may look like success").
///
/// What was unanswered when the broker closed twice running is sent by itself from then on, so that the third close tells
/// which it was. What is closed upon three times running is set aside for a while, and then tried once more: rights may
/// have been granted meanwhile. An answer clears a name.
public struct SuspectTopics: Sendable {
    /// What to do with a topic or filter.
    public enum Verdict: Hashable, Sendable {
        /// Send it as ever.
        case send
        /// Send it when nothing else is unanswered, and nothing else until it is answered.
        case sendAlone
        /// Do not send it; it is set aside.
        case refuse(TrackingError)
    }

    private struct Suspect {
        var closes = 0
        var setAside: Duration = .zero
        var until: MonotonicTime?
    }

    /// How many closes running set a name aside.
    public static let patience = 3
    /// For how long at first; each further close doubles it.
    public static let firstSetAside: Duration = .seconds(30)
    /// For how long at most.
    public static let longestSetAside: Duration = .seconds(15 * 60)
    /// The most names that are remembered; more are not suspected.
    static let maximumNames = 10_000

    private var suspects: [String: Suspect] = [:]

    /// Suspects nothing.
    public init() {}

    /// Whether no name is suspected.
    public var isEmpty: Bool { self.suspects.isEmpty }

    /// What to do with this topic or filter now.
    public func verdict(on name: String, now: MonotonicTime) -> Verdict {
        guard let suspect = self.suspects[name], suspect.closes >= Self.patience - 1 else { return .send }
        guard let until = suspect.until, now < until else { return .sendAlone }
        return .refuse(
            TrackingError(
                .notAuthorized,
                """
                '\(name)' is set aside for \(suspect.setAside.components.seconds) s: the broker closed the connection \
                after it \(Self.patience) times running, as some do where their rules forbid a topic
                """))
    }

    /// The broker answered something of this name, whatever it said.
    public mutating func answered(_ name: String) { self.suspects[name] = nil }

    /// The broker closed the connection while these were unanswered.
    ///
    /// - Returns: What is set aside from now on.
    public mutating func closed(unanswered: some Sequence<String>, now: MonotonicTime) -> [String] {
        let names = Set(unanswered)
        // Of several, no one knows which it was.
        let most = names.count == 1 ? Self.patience : Self.patience - 1
        var setAside: [String] = []
        for name in names where self.suspects[name] != nil || self.suspects.count < Self.maximumNames {
            var suspect = self.suspects[name] ?? Suspect()
            suspect.closes = max(suspect.closes, min(suspect.closes + 1, most))
            if suspect.closes == Self.patience {
                suspect.setAside = min(max(Self.firstSetAside, suspect.setAside * 2), Self.longestSetAside)
                suspect.until = now.advanced(by: suspect.setAside)
                setAside.append(name)
            }
            self.suspects[name] = suspect
        }
        return setAside
    }
}
