/// The check of a publisher for commands that arrive from the broker. It rejects expired commands, and commands whose
/// id it remembers. It remembers the ids of the last 256 commands that it let pass.
public struct CommandGate: Sendable {
    /// The decision whether the publisher executes a command that arrived from the broker.
    public enum Verdict: Equatable, Sendable {
        /// The publisher must execute the command.
        case take
        /// The publisher must ignore the command without an answer, because it has expired. Its sender no longer waits.
        case expired
        /// The publisher must ignore the command, because the gate remembers its id: a command with the same id was
        /// executed before.
        case seen
    }

    /// The maximum number of remembered command ids.
    public static let capacity = 256

    private var known: Set<String> = []
    /// The remembered command ids. When the list is full, a new id overwrites the oldest.
    private var ring: [String] = []
    private var next = 0

    /// Makes the gate of a publisher that has received no command yet. It remembers no command ids.
    public init() {}

    /// Restores a gate from the command ids that ``kept`` returned in an earlier run.
    ///
    /// - Parameter kept: The stored ids; the gate remembers none when this is `nil` or unreadable.
    public init(keeping kept: [UInt8]?) {
        let ids = kept.flatMap { try? JSONValue(json: $0) }?.list?.compactMap(\.text) ?? []
        for id in ids.suffix(Self.capacity) where CommandCodec.isName(id) { self.remember(id) }
    }

    /// The remembered command ids as JSON, at most 120 KB. The program stores them, and restores them after a restart,
    /// so that it executes none of these commands a second time.
    public var kept: [UInt8] {
        let oldestFirst = self.ring[self.next...] + self.ring[..<self.next]
        return JSONValue.list(oldestFirst.map { .text($0) }).json
    }

    /// Decides whether the publisher executes a command, and remembers the id of a command to execute. The id of an
    /// expired command is not remembered.
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
