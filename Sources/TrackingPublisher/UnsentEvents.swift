import TrackingCore

/// The events of one trackable that were not published yet: they wait for a connection, for the log, or for a request
/// of the caller.
struct UnsentEvents: Sendable {
    private struct Entry: Sendable {
        var event: TrackingEvent
        /// `true` after the caller requested to send this event. It matters only if sending is manual.
        var isRequested = false
    }

    /// The largest number of waiting events of a trackable whose records are the device's own.
    static let mostOwn = 100
    /// The largest number of waiting events of a trackable whose records another system supplies.
    static let mostRemote = 1_000
    /// The number of waiting events of all trackables above which each trackable keeps only ``fewest``.
    static let many = 10_000
    /// The number of waiting events that each trackable may always have.
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

    /// Marks every waiting event as requested by the caller.
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
