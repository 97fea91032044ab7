public import TrackingCore

/// A trip that was detected in the points of a history.
public struct DetectedTrip: Hashable, Sendable {
    /// The first point of the detected trip. After a stop, it is the last point of that stop.
    public let start: Location
    /// The last point of the detected trip. If a stop follows, it is the first point of that stop.
    public private(set) var end: Location
    /// The length of the trip's path: the sum of the distances from point to point.
    public private(set) var distance: Meters = 0
    /// The number of points of the trip, first and last included.
    public private(set) var points = 1
    /// The greatest distance of a point of the trip from the trip's start.
    public private(set) var farthest: Meters = 0
    /// The greatest speed that a point of the trip contains, in metres a second; `nil` when no point contains a speed.
    private var recordedSpeed: Double?
    /// The greatest speed computed from positions, in metres a second. It is computed between points that are at least
    /// ``speedStretch`` seconds apart.
    private var measuredSpeed = 0.0
    /// The point from which the current measurement of speed starts. The measurement ends at the first point that is at
    /// least ``speedStretch`` seconds later.
    private var stretchStart: Location

    /// The minimum time between two points from which a speed is computed, in seconds. Over a shorter time, the
    /// receiver's noise looks like speed.
    private static let speedStretch = 10.0

    init(start: Location) {
        self.start = start
        self.end = start
        self.recordedSpeed = start.speed
        self.stretchStart = start
    }

    /// The duration of the detected trip: the time from its first to its last point.
    public var duration: Duration { self.end.time.since(self.start.time) }

    /// The average speed of the detected trip, in metres a second: its distance divided by its duration. `nil` for a
    /// duration of zero.
    public var averageSpeed: Double? {
        let seconds = self.duration.inSeconds
        return seconds > 0 ? self.distance.value / seconds : nil
    }

    /// The greatest speed during the trip, in metres a second: the greatest speed that a point contains. If no point
    /// contains a speed, the greatest speed is computed from positions at least ten seconds apart, and is `nil` for a
    /// trip shorter than ten seconds.
    public var topSpeed: Double? {
        if let speed = self.recordedSpeed { return speed }
        guard self.duration.inSeconds >= Self.speedStretch else { return nil }
        return max(self.measuredSpeed, self.averageSpeed ?? 0)
    }

    /// Adds a point to the end of the detected trip. It must be later than the trip's last point.
    mutating func move(to point: Location) {
        self.distance.value += self.end.coordinate.distance(to: point.coordinate).value
        self.measureSpeed(at: point)
        if let speed = point.speed { self.recordedSpeed = max(self.recordedSpeed ?? 0, speed) }
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

/// A stop that was detected in the points of a history.
public struct DetectedStop: Hashable, Sendable {
    /// The first point of the stop.
    public let start: Location
    /// The last point of the stop.
    public private(set) var end: Location
    /// The mean position of the stop's points.
    public private(set) var place: Coordinate
    /// The number of points of the stop.
    public private(set) var points = 1

    init(start: Location) {
        self.start = start
        self.end = start
        self.place = start.coordinate
    }

    /// The duration of the detected stop: the time from its first to its last point.
    public var duration: Duration { self.end.time.since(self.start.time) }

    /// Adds a point to the end of the detected stop. It must be later than the stop's last point.
    mutating func stay(at point: Location) {
        self.points += 1
        self.place = self.place.interpolated(to: point.coordinate, fraction: 1 / Double(self.points))
        self.end = point
    }
}
