import TrackingCore

/// The events of one trackable that were not published yet: they wait for a connection, for the log, or for a request
/// of the caller.
struct UnsentEvents: Sendable {
    private struct Entry: Sendable {
        var event: TrackingEvent
        /// `true` after the caller requested to send this event. If records are not sent automatically, only such
        /// events are published.
        var isRequested = false
    }

    /// The largest number of waiting events of a trackable whose records are the device's own.
    static let mostOwn = 100
    /// The largest number of waiting events of a trackable whose records another system supplies.
    static let mostRemote = 1_000
    /// The number of waiting events of all trackables above which a trackable that gets a new event keeps only its
    /// newest ``fewest`` events.
    static let many = 10_000
    /// The number of waiting events that each trackable may always have, even when all trackables together have too
    /// many.
    static let fewest = 2

    private var entries: [Entry] = []

    /// The number of events that wait to be published.
    var count: Int { self.entries.count }

    /// `true` while no event waits to be published.
    var isEmpty: Bool { self.entries.isEmpty }

    /// Adds an event that waits to be published; above the limit, the oldest waiting events of this
    /// trackable are removed.
    ///
    /// - Parameters:
    ///   - most: The largest number of waiting events of this trackable.
    ///   - total: The number of waiting events of all trackables, before this one.
    mutating func add(_ event: TrackingEvent, most: Int, total: Int) {
        self.entries.append(Entry(event: event))
        let room = total + 1 > Self.many ? Self.fewest : most
        if self.count > room { self.entries.removeFirst(self.count - room) }
    }

    /// Marks every waiting event as one that the caller requested to send.
    mutating func ask() {
        for index in self.entries.indices { self.entries[index].isRequested = true }
    }

    /// Removes and returns the waiting events that may be published now, oldest first. `mayGo` decides for each event.
    mutating func take(
        where mayGo: (_ event: TrackingEvent, _ isRequested: Bool) -> Bool
    ) -> [TrackingEvent] {
        let taken = self.entries.filter { mayGo($0.event, $0.isRequested) }.map(\.event)
        if !taken.isEmpty { self.entries.removeAll { mayGo($0.event, $0.isRequested) } }
        return taken
    }

    /// Removes the waiting events for which `isGone` returns `true`, because their records were removed from the log.
    mutating func forget(where isGone: (TrackingEvent) -> Bool) { self.entries.removeAll { isGone($0.event) } }

    /// Applies the privacy zones to the position of every waiting event: replaces it by the result of `shown`, or
    /// removes it if that is `nil`.
    mutating func hide(_ shown: (Location) -> Location?) {
        for index in self.entries.indices {
            self.entries[index].event.location = self.entries[index].event.location.flatMap(shown)
        }
    }
}
