import TrackingCore

/// Points for tests.
enum Points {
    /// A point with few values.
    static func at(_ seconds: Double, _ latitude: Double, _ longitude: Double) -> Location {
        // Written in a test, in range.
        Location(coordinate: Coordinate(latitude: latitude, longitude: longitude)!, time: UnixTime(seconds))
    }

    /// A point with every member.
    static func full(_ seconds: Double = 1_777_887_000.25) -> Location {
        var point = Self.at(seconds, 52.629151, -8.661746)
        point.altitude = 19.5
        point.accuracyHorizontal = 4.1
        point.accuracyVertical = 6
        point.bearing = 187.5
        point.accuracyBearing = 3
        point.speed = 8.2
        point.accuracySpeed = 0.4
        point.floor = -2
        point.seq = 4711
        point.stream = StreamID("k3f9q2wz")
        point.batteryLevel = 0.83
        point.mode = .balanced
        point.motion = [.driving, .stationary]
        point.tripID = "7, \"the\" trip"
        point.source = .gps
        point.extra = Array("{\"a\": \"x,y\",\n \"b\":[1,2]}".utf8)
        return point
    }

    /// A random walk with one point a second and irregular numbers.
    static func walk(_ count: Int, seed: UInt64, from start: Location = full()) -> [Location] {
        var dice = SplitMix64(seed: seed)
        var points = [start]
        while points.count < count {
            var point = points[points.count - 1]
            point.time = UnixTime(point.time.seconds + 1)
            point.coordinate = point.coordinate.destination(
                bearing: .random(in: 0..<360, using: &dice), distance: Meters(.random(in: 0...30, using: &dice)))
            point.seq = point.seq.map { $0 + 1 }
            points.append(point)
        }
        return points
    }
}

extension Location {
    /// The point as an import returns it: without the name of a record.
    var unnamed: Location {
        var point = self
        point.seq = nil
        point.stream = nil
        return point
    }
}
