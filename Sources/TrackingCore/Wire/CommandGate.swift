/// Decides whether a publisher executes a command that it receives from the broker. Each command id is executed once,
/// and no expired command is executed.
public struct CommandGate: Sendable {
    /// The decision about a command.
    public enum Verdict: Equatable, Sendable {
        /// Execute the command.
        case take
        /// Ignore the command: it expired, so its sender no longer waits for an answer.
        case expired
        /// Ignore the command: its id was received before.
        case seen
    }

    /// The maximum number of remembered ids.
    public static let capacity = 256

    private var known: Set<String> = []
    /// The remembered ids in order of arrival. A new id overwrites the oldest.
    private var ring: [String] = []
    private var next = 0

    /// Makes a gate that remembers no command ids.
    public init() {}

    /// Restores a gate from its stored ``kept``. The gate remembers no command ids when `kept` is `nil` or unreadable.
    public init(keeping kept: [UInt8]?) {
        let ids = kept.flatMap { try? JSONValue(json: $0) }?.list?.compactMap(\.text) ?? []
        for id in ids.suffix(Self.capacity) where CommandCodec.isName(id) { self.remember(id) }
    }

    /// The remembered command ids as JSON, at most 120 KB. When they are stored and restored, no command is executed
    /// again after a restart of the program.
    public var kept: [UInt8] {
        let oldestFirst = self.ring[self.next...] + self.ring[..<self.next]
        return JSONValue.list(oldestFirst.map { .text($0) }).json
    }

    /// Decides whether a command is executed, and remembers its id.
    ///
    /// An expired command is not remembered, because it was never executed.
    ///
    /// - Parameters:
    ///   - command: The command that arrived.
    ///   - now: The time on the publisher's clock.
    public mutating func consider(_ command: Command, now: UnixTime) -> Verdict {
        guard !self.known.contains(command.id) else { return .seen }
        guard now <= command.deadline else { return .expired }
        self.remember(command.id)
        return .take
    }

    private mutating func remember(_ id: String) {
        guard self.known.insert(id).inserted else { return }
        if self.ring.count < Self.capacity {
            self.ring.append(id)
        } else {
            self.known.remove(self.ring[self.next])
            self.ring[self.next] = id
            self.next = (self.next + 1) % Self.capacity
        }
    }
}
