public import TrackingCore

/// A trip that was found in the points of a history.
public struct DetectedTrip: Hashable, Sendable {
    /// The first point: the last of the stop before, where there was one.
    public let start: Location
    /// The last point.
    public private(set) var end: Location
    /// The way from point to point, in metres.
    public private(set) var distance: Meters = 0
    /// How many points it has, start and end included.
    public private(set) var points = 1
    /// The greatest distance from the start, in metres.
    public private(set) var farthest: Meters = 0
    /// The greatest speed that a point told, in metres a second.
    private var toldSpeed: Double?
    /// The greatest speed between points at least ``speedStretch`` apart, in metres a second.
    private var measuredSpeed = 0.0
    /// Where the stretch began whose speed is measured next.
    private var stretchStart: Location

    /// Over less than this a receiver's noise looks like speed.
    private static let speedStretch = 10.0

    init(start: Location) {
        self.start = start
        self.end = start
        self.toldSpeed = start.speed
        self.stretchStart = start
    }

    /// How long it lasted.
    public var duration: Duration { self.end.time.since(self.start.time) }

    /// Distance over duration, in metres a second; `nil` when it took no time.
    public var averageSpeed: Double? {
        let seconds = self.duration.inSeconds
        return seconds > 0 ? self.distance.value / seconds : nil
    }

    /// The greatest speed that a point told, in metres a second; where none told any, the greatest in a straight line over
    /// at least ten seconds, and `nil` for what was shorter.
    public var topSpeed: Double? {
        if let told = self.toldSpeed { return told }
        guard self.duration.inSeconds >= Self.speedStretch else { return nil }
        return max(self.measuredSpeed, self.averageSpeed ?? 0)
    }

    /// Goes on to a point that is later than the last.
    mutating func move(to point: Location) {
        self.distance.value += self.end.coordinate.distance(to: point.coordinate).value
        self.measureSpeed(at: point)
        if let speed = point.speed { self.toldSpeed = max(self.toldSpeed ?? 0, speed) }
        self.farthest = max(self.farthest, self.start.coordinate.distance(to: point.coordinate))
        self.end = point
        self.points += 1
    }

    private mutating func measureSpeed(at point: Location) {
        let seconds = point.time.since(self.stretchStart.time).inSeconds
        guard seconds >= Self.speedStretch else { return }
        let metres = self.stretchStart.coordinate.distance(to: point.coordinate).value
        self.measuredSpeed = max(self.measuredSpeed, metres / seconds)
        self.stretchStart = point
    }
}

/// A stop that was found in the points of a history.
public struct DetectedStop: Hashable, Sendable {
    /// The first point.
    public let start: Location
    /// The last point.
    public private(set) var end: Location
    /// The middle of its points.
    public private(set) var place: Coordinate
    /// How many points it has.
    public private(set) var points = 1

    init(start: Location) {
        self.start = start
        self.end = start
        self.place = start.coordinate
    }

    /// How long it lasted.
    public var duration: Duration { self.end.time.since(self.start.time) }

    /// Stays at a point that is later than the last.
    mutating func stay(at point: Location) {
        self.points += 1
        self.place = self.place.interpolated(to: point.coordinate, fraction: 1 / Double(self.points))
        self.end = point
    }
}
