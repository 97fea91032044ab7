/// The limits of a log. The oldest records are dropped beyond them.
public struct SpoolLimits: Hashable, Sendable {
    /// The maximum number of records, ≥ 0; `nil` for no limit.
    public var maximumCount: Int?
    /// The maximum number of payload bytes, ≥ 0; `nil` for no limit.
    public var maximumBytes: Int?
    /// The maximum age; `nil` for no limit. A record from before 2001 or from the future has no known time. It counts
    /// as no older than the next record with a known time.
    public var maximumAge: Duration?

    /// Makes limits; `nil` means no limit.
    public init(maximumCount: Int? = nil, maximumBytes: Int? = nil, maximumAge: Duration? = nil) {
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
        self.maximumAge = maximumAge
    }
}

/// The amount of records in a log.
public struct SpoolSummary: Hashable, Sendable {
    /// The amount of each trackable.
    public var trackables: [TrackableID: SpoolAmount]
    /// The number of records that were dropped in the lifetime of the log to comply with its limits.
    public var dropped: Int
    /// The number of quarantined records.
    public var quarantined: Int
    /// The place of the record that was appended last; 0 before the first.
    public var lastPlace: Int64

    /// The sum over all trackables.
    public var total: SpoolAmount { self.trackables.values.reduce(into: SpoolAmount()) { $0.add($1) } }

    /// Makes a summary.
    public init(
        trackables: [TrackableID: SpoolAmount] = [:], dropped: Int = 0, quarantined: Int = 0, lastPlace: Int64 = 0
    ) {
        self.trackables = trackables
        self.dropped = dropped
        self.quarantined = quarantined
        self.lastPlace = lastPlace
    }
}

/// An amount of records, by kind and size.
public struct SpoolAmount: Hashable, Sendable {
    /// The number of captured points.
    public var points: Int
    /// The number of versions of trips.
    public var trips: Int
    /// The number of events.
    public var events: Int
    /// The number of payload bytes.
    public var bytes: Int
    /// The time of the record that was appended first; for several trackables, the earliest of those times. `nil`
    /// without records.
    public var oldest: UnixTime?

    /// The number of records of all kinds.
    public var count: Int { self.points + self.trips + self.events }

    /// Makes an amount.
    public init(points: Int = 0, trips: Int = 0, events: Int = 0, bytes: Int = 0, oldest: UnixTime? = nil) {
        self.points = points
        self.trips = trips
        self.events = events
        self.bytes = bytes
        self.oldest = oldest
    }

    /// Adds another amount.
    public mutating func add(_ other: SpoolAmount) {
        self.points += other.points
        self.trips += other.trips
        self.events += other.events
        self.bytes += other.bytes
        self.oldest = [self.oldest, other.oldest].compactMap { $0 }.min()
    }
}
