import TrackingCore

/// Events that wait to be told: for a connection, for the log, or until somebody asks for them.
struct UnsentEvents: Sendable {
    private struct Entry: Sendable {
        var event: TrackingEvent
        /// Whether it was asked for, where nothing goes by itself.
        var isAskedFor = false
    }

    /// The most of one trackable that the device feeds.
    static let mostOfOwn = 100
    /// The most of one that is fed from outside, where many come at once.
    static let mostOfOthers = 1_000
    /// While more than so many wait, of one trackable no more than ``fewest`` do.
    static let many = 10_000
    /// What concerns the device happens to everything that it carries at once: so many of each have room always.
    static let fewest = 2

    /// Whether none waits.
    var isEmpty: Bool { self.count == 0 }

    private var queues: [TrackableID: [Entry]] = [:]
    private var count = 0

    /// It waits from now on; of too many the oldest of its trackable do not any more.
    mutating func add(_ event: TrackingEvent, of id: TrackableID, most: Int) {
        self.queues[id, default: []].append(Entry(event: event))
        self.count += 1
        let room = self.count > Self.many ? Self.fewest : most
        guard let own = self.queues[id]?.count, own > room else { return }
        self.queues[id]?.removeFirst(own - room)
        self.count -= own - room
    }

    /// All that waits was asked for.
    mutating func ask() {
        self.queues = self.queues.mapValues { entries in entries.map { Entry(event: $0.event, isAskedFor: true) } }
    }

    /// Takes those that may be told now, oldest first.
    mutating func take(
        of id: TrackableID, where mayGo: (_ event: TrackingEvent, _ isAskedFor: Bool) -> Bool
    ) -> [TrackingEvent] {
        guard let entries = self.queues[id] else { return [] }
        let taken = entries.filter { mayGo($0.event, $0.isAskedFor) }.map(\.event)
        if !taken.isEmpty { self.keep(entries.filter { !mayGo($0.event, $0.isAskedFor) }, of: id) }
        return taken
    }

    /// These are not told any more.
    mutating func forget(of id: TrackableID, where isGone: (TrackingEvent) -> Bool) {
        guard let entries = self.queues[id] else { return }
        self.keep(entries.filter { !isGone($0.event) }, of: id)
    }

    /// Where each of them happened is from now on what `shown` says; `nil`, nowhere.
    mutating func hide(_ shown: (Location) -> Location?) {
        self.queues = self.queues.mapValues { entries in
            entries.map { entry in
                var hidden = entry
                hidden.event.location = entry.event.location.flatMap(shown)
                return hidden
            }
        }
    }

    private mutating func keep(_ entries: [Entry], of id: TrackableID) {
        self.count -= (self.queues[id]?.count ?? 0) - entries.count
        self.queues[id] = entries.isEmpty ? nil : entries
    }
}
