private import DequeModule
import TrackingCore

/// The trackables that wait for a request to the routing engine, in the order of their waits. Each trackable has at most
/// one place, and none at the front while a request of it is under way.
struct RequestQueue: Sendable {
    private var order = Deque<TrackableID>()
    private var members: Set<TrackableID> = []
    /// The trackables with a request under way, and `true` if they wait for the next one.
    private var blocked: [TrackableID: Bool] = [:]

    /// Adds a trackable at the end. A trackable that waits already keeps its place. A trackable with a request under way
    /// is added when the request ends.
    mutating func append(_ id: TrackableID) {
        if self.blocked[id] != nil {
            self.blocked[id] = true
        } else if self.members.insert(id).inserted {
            self.order.append(id)
        }
    }

    /// Removes and returns the trackable that has waited for the longest time; `nil` when none waits.
    mutating func popFirst() -> TrackableID? {
        while let id = self.order.popFirst() {
            // A removed trackable may still have its old place.
            if self.members.remove(id) != nil { return id }
        }
        return nil
    }

    /// Removes and returns all trackables that wait, including those with a request under way.
    mutating func popAll() -> [TrackableID] {
        let ids = self.order.filter { self.members.contains($0) } + Array(self.blocked.filter(\.value).keys)
        for id in self.blocked.keys { self.blocked[id] = false }
        self.order.removeAll()
        self.members.removeAll()
        return Array(ids)
    }

    /// Marks a trackable as one with a request under way.
    mutating func block(_ id: TrackableID) { self.blocked[id] = false }

    /// Handles that the request of a trackable has ended.
    mutating func unblock(_ id: TrackableID) {
        if self.blocked.removeValue(forKey: id) == true { self.append(id) }
    }

    /// Removes a trackable.
    mutating func remove(_ id: TrackableID) {
        self.members.remove(id)
        self.blocked[id] = nil
    }
}
