/// The times at which a publisher or subscriber repeats its announcement on its trackables. It does so after another
/// client arrived there, because the broker may not have sent the retained announcements to the new client.
///
/// The repetition follows at a random moment within one second, so that not all clients answer an arrival at once.
/// Until that moment, further arrivals on the same trackable add no second announcement, and announcements on other
/// trackables are scheduled for the same moment.
struct Announcements: Sendable {
    /// The longest random wait before an announcement is repeated: one second.
    static let longestWait = Duration.seconds(1)

    private var timers = DeadlineQueue<TrackableID>()
    private var nextMoment: MonotonicTime?

    /// The time of the earliest scheduled announcement; `nil` if none is scheduled.
    var nextDeadline: MonotonicTime? { self.timers.next }

    /// Schedules the repetition of the client's announcement on a trackable. The time is that of the announcements
    /// scheduled last, if it is still to come, and otherwise a random time within ``longestWait``. An announcement that
    /// is already scheduled keeps its time.
    mutating func schedule(
        _ trackable: TrackableID, now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) {
        guard self.timers.deadline(of: trackable) == nil else { return }
        let wait = Duration.milliseconds(Int.random(in: 0..<1000, using: &generator))
        let next = self.nextMoment.flatMap { $0 > now ? $0 : nil } ?? now.advanced(by: wait)
        self.nextMoment = next
        self.timers.set(trackable, deadline: next)
    }

    /// Cancels the scheduled announcement on one trackable.
    mutating func cancel(_ trackable: TrackableID) { self.timers.remove(trackable) }

    /// Cancels all scheduled announcements.
    mutating func cancelAll() { self.timers = DeadlineQueue() }

    /// Removes the scheduled announcements whose time has come. Returns their trackables, the earliest first.
    mutating func popDue(now: MonotonicTime) -> [TrackableID] { self.timers.popExpired(now: now) }
}
