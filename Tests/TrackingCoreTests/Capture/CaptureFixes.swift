import Testing

@testable import TrackingCore

extension Location {
    /// A fix `north` and `east` metres from the origin, `seconds` after the tests' epoch, with optional further
    /// members.
    static func fix(
        north: Double = 0, east: Double = 0, at seconds: Double, speed: Double? = nil, accuracy: Double? = nil,
        motion: [Motion] = []
    ) -> Location {
        var fix = Location.fix(north: north, at: seconds)
        fix.coordinate = fix.coordinate.destination(bearing: 90, distance: Meters(east))
        fix.speed = speed
        fix.accuracyHorizontal = accuracy
        fix.motion = motion
        return fix
    }

    /// `extra` as text.
    var extraText: String? { self.extra.map { String(decoding: $0, as: UTF8.self) } }
}

extension Moment {
    /// `seconds` after both clocks' beginnings in the tests.
    static func at(_ seconds: Double) -> Moment {
        Moment(now: MonotonicTime(.seconds(seconds)), wall: UnixTime(1_767_300_000 + seconds))
    }
}
