/// The trackables on which a member announces itself once more, because another member arrived that a broker may not
/// have given the retained messages.
///
/// The announcement is due at a random moment within a second, so that the members of a trackable do not answer an
/// arrival all at once. Arrivals until then share the moment, so that one liveness serves all of them.
struct Announcements: Sendable {
    /// The range of the random wait.
    static let longestWait = Duration.seconds(1)

    private var timers = DeadlineQueue<TrackableID>()
    private var nextMoment: MonotonicTime?

    /// The earliest deadline; `nil` if no announcement is scheduled.
    var nextDeadline: MonotonicTime? { self.timers.next }

    /// Schedules an announcement. A trackable that has one already keeps its deadline.
    mutating func schedule(
        _ trackable: TrackableID, now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) {
        guard self.timers.deadline(of: trackable) == nil else { return }
        let wait = Duration.milliseconds(Int.random(in: 0..<1000, using: &generator))
        let next = self.nextMoment.flatMap { $0 > now ? $0 : nil } ?? now.advanced(by: wait)
        self.nextMoment = next
        self.timers.set(trackable, deadline: next)
    }

    /// Cancels the announcement of one trackable.
    mutating func cancel(_ trackable: TrackableID) { self.timers.remove(trackable) }

    /// Cancels all announcements.
    mutating func cancelAll() { self.timers = DeadlineQueue() }

    /// Removes the announcements that are due, the earliest first.
    mutating func popDue(now: MonotonicTime) -> [TrackableID] { self.timers.popExpired(now: now) }
}
