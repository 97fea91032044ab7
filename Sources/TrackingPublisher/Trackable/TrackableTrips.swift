import TrackingCore

/// The trips of one trackable, and the newest state of a trip that is still to be published.
struct TrackableTrips: Sendable {
    /// Decides about the beginning, the progress and the end of trips.
    var machine: TripStateMachine
    /// The trip that ended last in this run of the program; `nil` if there is none.
    var last: Trip?
    /// The newest state of a trip that was not published yet; `nil` if there is none.
    var unpublished: Trip?
    /// The state of a trip that was published last in this run of the program.
    var published: Trip?

    /// Makes the trips of a trackable. None of them counts as published.
    init(_ machine: TripStateMachine) { self.machine = machine }

    /// Returns the trip under way at `moment`, or else the last trip that ended in this run of the program.
    func newest(at moment: Moment) -> Trip? { self.machine.status(at: moment) ?? self.last }

    /// Starts a trip in `mode`, or ends the trip where `mode` is `nil`.
    ///
    /// - Throws: `tripUnderWay` when a trip exists already; `noTrip` when there is no trip to end.
    mutating func change(
        to mode: TripMode?, at moment: Moment, next: RecordName
    ) throws(TrackingError) -> TripStateMachine.Change {
        if let mode { return try self.machine.start(mode, at: moment, next: next) }
        return try self.machine.stop(at: moment, next: next)
    }
}

/// The end of a trip that ended because its trackable stopped being tracked. It is published after it was written to
/// the log.
struct Departure: Hashable, Sendable {
    /// The last version of the trip.
    var trip: Trip
    /// The event that reports the end of the trip; `nil` if the program was started again since.
    var event: TrackingEvent?
    /// `true` after the end of the trip was written to the log, or failed to be written.
    var isWritten = false
    /// `true` after the end of the trip was published on this connection.
    var isPublished = false
}
