import TrackingCore

/// The events of one trackable that were not published yet: they wait for a connection, for the log, or for a request
/// of the caller.
struct UnsentEvents: Sendable {
    private struct Entry: Sendable {
        var event: TrackingEvent
        /// `true` after the caller asked for it, where nothing is published without a request.
        var isRequested = false
    }

    /// The most events of a trackable that the device feeds.
    static let mostOwn = 100
    /// The most events of a trackable with a remote source, where many come at once.
    static let mostRemote = 1_000
    /// The number of events of all trackables above which each has room for ``fewest``.
    static let many = 10_000
    /// The room that each trackable has always. An event of the device concerns every trackable at once.
    static let fewest = 2

    private var entries: [Entry] = []

    /// The number of events.
    var count: Int { self.entries.count }

    /// `true` while there is none.
    var isEmpty: Bool { self.entries.isEmpty }

    /// Adds an event; above the limit, the oldest events are removed.
    ///
    /// - Parameters:
    ///   - most: The most events of this trackable.
    ///   - total: The number of events of all trackables, before this one.
    mutating func add(_ event: TrackingEvent, most: Int, total: Int) {
        self.entries.append(Entry(event: event))
        let room = total + 1 > Self.many ? Self.fewest : most
        if self.count > room { self.entries.removeFirst(self.count - room) }
    }

    /// The caller asked for every event.
    mutating func ask() {
        for index in self.entries.indices { self.entries[index].isRequested = true }
    }

    /// Takes out the events for which `mayGo` returns `true`, oldest first.
    mutating func take(
        where mayGo: (_ event: TrackingEvent, _ isRequested: Bool) -> Bool
    ) -> [TrackingEvent] {
        let taken = self.entries.filter { mayGo($0.event, $0.isRequested) }.map(\.event)
        if !taken.isEmpty { self.entries.removeAll { mayGo($0.event, $0.isRequested) } }
        return taken
    }

    /// Removes the events for which `isGone` returns `true`.
    mutating func forget(where isGone: (TrackingEvent) -> Bool) { self.entries.removeAll { isGone($0.event) } }

    /// Replaces the place of every event by the result of `shown`; `nil` removes it.
    mutating func hide(_ shown: (Location) -> Location?) {
        for index in self.entries.indices {
            self.entries[index].event.location = self.entries[index].event.location.flatMap(shown)
        }
    }
}
