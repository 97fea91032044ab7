/// Decides which commands from the broker are carried out: each once, and none that has expired.
public struct CommandGate: Sendable {
    /// What becomes of a command.
    public enum Verdict: Equatable, Sendable {
        /// Carry it out.
        case take
        /// It came too late; nobody waits for an answer.
        case expired
        /// It came before.
        case seen
    }

    /// How many ids are remembered.
    public static let capacity = 256

    private var known: Set<String> = []
    /// The ids in the order in which they came, the oldest overwritten first.
    private var ring: [String] = []
    private var next = 0

    /// Makes a gate that has seen nothing.
    public init() {}

    /// Makes a gate that has seen what another had, as ``kept`` had it; one that has seen nothing where that cannot be read.
    public init(keeping kept: [UInt8]?) {
        let ids = kept.flatMap { try? JSONValue(json: $0) }?.list?.compactMap(\.text) ?? []
        for id in ids.suffix(Self.capacity) where CommandCodec.isName(id) { self.remember(id) }
    }

    /// What has to be kept so that a command is carried out once though the program was restarted between: JSON, at most
    /// 120 KB.
    public var kept: [UInt8] {
        let oldestFirst = self.ring[self.next...] + self.ring[..<self.next]
        return JSONValue.list(oldestFirst.map { .text($0) }).json
    }

    /// Decides on a command that arrived at `now`, by the publisher's clock. One that was expired is not remembered: its
    /// id says nothing.
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
