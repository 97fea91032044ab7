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

    /// Decides on a command that arrived at `now`, by the publisher's clock. One that was expired is not remembered: its
    /// id says nothing.
    public mutating func consider(_ command: Command, now: UnixTime) -> Verdict {
        guard !self.known.contains(command.id) else { return .seen }
        guard now <= command.deadline else { return .expired }
        if self.ring.count < Self.capacity {
            self.ring.append(command.id)
        } else {
            self.known.remove(self.ring[self.next])
            self.ring[self.next] = command.id
            self.next = (self.next + 1) % Self.capacity
        }
        self.known.insert(command.id)
        return .take
    }
}
