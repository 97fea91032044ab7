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

    /// The time at which the client next repeats its announcement on a trackable; `nil` if no repetition is scheduled.
    var nextDeadline: MonotonicTime? { self.timers.next }

    /// Schedules that the client publishes its announcement on a trackable again. A repetition that is already
    /// scheduled for the trackable keeps its time. Otherwise the repetition gets the time that was chosen last for any
    /// trackable, if that time is still to come, or else a random time within ``longestWait``.
    mutating func schedule(
        _ trackable: TrackableID, now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) {
        guard self.timers.deadline(of: trackable) == nil else { return }
        let wait = Duration.milliseconds(Int.random(in: 0..<1000, using: &generator))
        let next = self.nextMoment.flatMap { $0 > now ? $0 : nil } ?? now.advanced(by: wait)
        self.nextMoment = next
        self.timers.set(trackable, deadline: next)
    }

    /// Cancels the scheduled repetition of the client's announcement on one trackable.
    mutating func cancel(_ trackable: TrackableID) { self.timers.remove(trackable) }

    /// Cancels the scheduled repetitions of the client's announcements on all trackables.
    mutating func cancelAll() { self.timers = DeadlineQueue() }

    /// Removes the scheduled repetitions whose time has come. Returns the trackables on which the client must repeat
    /// its announcement now, the earliest first.
    mutating func popDue(now: MonotonicTime) -> [TrackableID] { self.timers.popExpired(now: now) }
}
