/// The limits of the size of a device's log and of the age of its records. When a limit is exceeded, the oldest records
/// are dropped.
public struct SpoolLimits: Hashable, Sendable {
    /// The maximum number of records in the log, ≥ 0; `nil` for no limit.
    public var maximumCount: Int?
    /// The maximum total size of the payloads of all records in the log, in bytes, ≥ 0; `nil` for no limit.
    public var maximumBytes: Int?
    /// The maximum age of a record; `nil` for no limit. A record whose time is implausible (before 2001 or in the
    /// future) has no known age. It is dropped when a record that was appended later is too old.
    public var maximumAge: Duration?

    /// Makes the limits of a device's log; `nil` means no limit.
    public init(maximumCount: Int? = nil, maximumBytes: Int? = nil, maximumAge: Duration? = nil) {
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
        self.maximumAge = maximumAge
    }
}

/// A summary of a device's log: the number and size of its records, and the numbers of dropped and of quarantined
/// records.
public struct SpoolSummary: Hashable, Sendable {
    /// The number and size of the records in the log, for each trackable.
    public var trackables: [TrackableID: SpoolAmount]
    /// The number of records that were dropped since the log was created, because the log exceeded its limits.
    public var dropped: Int
    /// The number of quarantined records in the log: records set aside because they can never be accepted.
    public var quarantined: Int
    /// The place, in the order of appending, of the record that was appended last; 0 if no record was ever appended.
    public var lastPlace: Int64

    /// The number and size of the records in the log, for all trackables together.
    public var total: SpoolAmount { self.trackables.values.reduce(into: SpoolAmount()) { $0.add($1) } }

    /// Makes the summary of a log from the amounts of its records; by default, that of an empty log.
    public init(
        trackables: [TrackableID: SpoolAmount] = [:], dropped: Int = 0, quarantined: Int = 0, lastPlace: Int64 = 0
    ) {
        self.trackables = trackables
        self.dropped = dropped
        self.quarantined = quarantined
        self.lastPlace = lastPlace
    }
}

/// The number of records of each kind, their total size, and the time of the oldest one. The records are those of one
/// trackable, or of all trackables together.
public struct SpoolAmount: Hashable, Sendable {
    /// The number of records that are recorded points.
    public var points: Int
    /// The number of records that are versions of trips.
    public var trips: Int
    /// The number of records that are events.
    public var events: Int
    /// The total size of the records' payloads, in bytes.
    public var bytes: Int
    /// The time of the first appended record that is still in the log; `nil` without records. For several trackables,
    /// the earliest of these times.
    public var oldest: UnixTime?

    /// The number of records of all kinds together: points, versions of trips and events.
    public var count: Int { self.points + self.trips + self.events }

    /// Makes a summary of a set of records from the number of records of each kind, their total size in bytes, and the
    /// time of the oldest one; by default, of no records.
    public init(points: Int = 0, trips: Int = 0, events: Int = 0, bytes: Int = 0, oldest: UnixTime? = nil) {
        self.points = points
        self.trips = trips
        self.events = events
        self.bytes = bytes
        self.oldest = oldest
    }

    /// Adds the numbers and the size of other amounts to these amounts. The earlier of the two ``oldest`` times
    /// remains.
    public mutating func add(_ other: SpoolAmount) {
        self.points += other.points
        self.trips += other.trips
        self.events += other.events
        self.bytes += other.bytes
        self.oldest = [self.oldest, other.oldest].compactMap { $0 }.min()
    }
}
