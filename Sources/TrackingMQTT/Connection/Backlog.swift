import TrackingCore

/// The commands that a connection has accepted from the program and not performed yet, in order. A publish waits while
/// the maximum number of earlier publishes is unanswered, and all later commands wait behind it.
struct Backlog {
    private var lists: [[TransportCommand]] = []
    private var list = 0
    private var index = 0

    var isEmpty: Bool { self.list == self.lists.count }

    mutating func append(_ commands: [TransportCommand]) {
        if !commands.isEmpty { self.lists.append(commands) }
    }

    /// The oldest command that waits to be performed; `nil` if none waits. Reading the property does not remove the
    /// command.
    var first: TransportCommand? { self.isEmpty ? nil : self.lists[self.list][self.index] }

    mutating func removeFirst() {
        self.index += 1
        guard self.index == self.lists[self.list].count else { return }
        self.index = 0
        self.lists[self.list] = []
        self.list += 1
        if self.list == self.lists.count || self.list >= 64 {
            self.lists.removeFirst(self.list)
            self.list = 0
        }
    }

    mutating func removeAll() { self = Backlog() }
}
