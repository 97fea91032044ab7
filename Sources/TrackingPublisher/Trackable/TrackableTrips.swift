import TrackingCore

/// The trips of one trackable, and the newest state of a trip that is still to be published.
struct TrackableTrips: Sendable {
    /// Decides when trips of the trackable begin and end, and when a new version of a trip is recorded.
    var machine: TripStateMachine
    /// The trip that ended last in this run, or that another system supplied last; `nil` if there is none.
    private var last: Trip?
    /// The newest state of a trip that was not published yet; `nil` if there is none.
    private var unpublished: Trip?
    /// The state of a trip that was published last in this run of the program.
    private var published: Trip?

    /// The decision about the retained trip at the broker after the privacy zones changed.
    enum Hiding: Hashable, Sendable {
        /// The retained trip at the broker remains, or is replaced by a newer state of the trip that already waits to
        /// be published.
        case remains
        /// The trip is published again, without the positions that the changed privacy zones hide.
        case publish
        /// The retained trip at the broker is cleared, because it may contain hidden positions.
        case clear
    }

    /// Makes trips of which none was published.
    ///
    /// - Parameters:
    ///   - settings: The configured decision about trips.
    ///   - stored: The encoded trip that had not ended in an earlier run; `nil` for none.
    ///   - seed: The seed of trip ids.
    init(_ settings: TripStateMachine, stored: [UInt8]?, seed: UInt64, at moment: Moment) {
        self.machine = settings.reseeded(seed)
        if let stored { try? self.machine.restore(stored, at: moment) }
    }

    /// Remembers a new state of a trip, which then waits to be published.
    mutating func changed(to trip: Trip) {
        self.unpublished = trip
        if trip.state == .ended { self.last = trip }
    }

    /// Remembers a trip that another system supplied, which then waits to be published.
    mutating func ingested(_ trip: Trip) { (self.unpublished, self.last) = (trip, trip) }

    /// Lets the end of the last trip wait to be published. The broker had not acknowledged it before the trackable was
    /// tracked again.
    mutating func resume(_ departure: Departure) { self.unpublished = departure.trip }

    /// Makes sure that the trip under way is published on a new connection.
    mutating func publishAgain(at moment: Moment) {
        self.unpublished = self.unpublished ?? self.machine.status(at: moment)
    }

    /// Forgets the trip that ended last, because its positions must not be published any more.
    mutating func forgetLast() { self.last = nil }

    /// Returns the version of the trip that waits to be published, without the places that may not be shown, if it may
    /// be published now. The version then counts as published. Returns `nil` if no version waits or the waiting one may
    /// not be published yet.
    ///
    /// - Parameter isWritten: Returns `true` if the record of this version is in the log. Only then may it be
    ///   published.
    mutating func takeUnpublished(where isWritten: (Trip) -> Bool, _ shown: (Trip) -> Trip) -> Trip? {
        guard let trip = self.unpublished, isWritten(trip) else { return nil }
        self.unpublished = nil
        self.published = shown(trip)
        return self.published
    }

    /// Decides, after the privacy zones changed, if the retained trip at the broker remains, is replaced or is cleared.
    ///
    /// - Parameters:
    ///   - areMore: `true` if the zones hide more than before.
    ///   - isClaimed: `true` if this publisher has claimed the trackable, so that it may publish the trip.
    ///   - shown: Returns a trip as it may be shown.
    mutating func hide(areMore: Bool, isClaimed: Bool, at moment: Moment, _ shown: (Trip) -> Trip) -> Hiding {
        guard let trip = self.newest(at: moment) else { return areMore ? .clear : .remains }
        let visible = shown(trip)
        // The retained version is up to a minute old, or of an earlier run.
        let isOutdated = self.published.map { shown($0) != $0 } ?? areMore
        guard isOutdated || visible != trip else { return .remains }
        if self.last == trip { self.last = visible }
        let isPending = self.unpublished != nil
        self.unpublished = self.unpublished ?? trip
        guard isClaimed else { return .clear }
        return isPending ? .remains : .publish
    }

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
    /// The last version of the trip that ended.
    var trip: Trip
    /// The event that reports the end of the trip. It is `nil` after a restart of the program, because the value that
    /// the log stores contains only the trip.
    var event: TrackingEvent?
    /// `true` after the record of the trip's end was written to the log, or failed to be written.
    var isWritten = false
    /// `true` after the end of the trip was published on this connection.
    var isPublished = false
}
