/// The times at which a member (publisher or subscriber) publishes its presence once more on its trackables. It does so
/// after another member arrived, because a broker may not have sent the retained messages to that member.
///
/// The time is random within one second, so that the members of a trackable do not all answer an arrival at once.
/// Further arrivals before that time do not add an announcement.
struct Announcements: Sendable {
    /// The longest random wait before an announcement: one second.
    static let longestWait = Duration.seconds(1)

    private var timers = DeadlineQueue<TrackableID>()
    private var nextMoment: MonotonicTime?

    /// The time of the earliest announcement; `nil` if none is scheduled.
    var nextDeadline: MonotonicTime? { self.timers.next }

    /// Schedules an announcement on a trackable at a random time within ``longestWait``. An announcement that is
    /// already scheduled keeps its time.
    mutating func schedule(
        _ trackable: TrackableID, now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) {
        guard self.timers.deadline(of: trackable) == nil else { return }
        let wait = Duration.milliseconds(Int.random(in: 0..<1000, using: &generator))
        let next = self.nextMoment.flatMap { $0 > now ? $0 : nil } ?? now.advanced(by: wait)
        self.nextMoment = next
        self.timers.set(trackable, deadline: next)
    }

    /// Cancels the announcement on one trackable.
    mutating func cancel(_ trackable: TrackableID) { self.timers.remove(trackable) }

    /// Cancels all announcements.
    mutating func cancelAll() { self.timers = DeadlineQueue() }

    /// Removes the announcements that are due, and returns their trackables, the earliest first.
    mutating func popDue(now: MonotonicTime) -> [TrackableID] { self.timers.popExpired(now: now) }
}
