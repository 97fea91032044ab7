/// Functions that make a resolution of a given accuracy, for example `.high(every: .seconds(1))`. An interval or a
/// distance that is out of range is replaced by the nearest permitted value.
extension Resolution {
    /// Makes a resolution with the coarsest accuracy (`minimum`) and the given interval and distance between two
    /// updates.
    public static func minimum(every interval: Duration, moving distance: Meters = 0) -> Resolution {
        Resolution(clamping: .minimum, interval, distance)
    }

    /// Makes a resolution with low accuracy and the given interval and distance between two updates.
    public static func low(every interval: Duration, moving distance: Meters = 0) -> Resolution {
        Resolution(clamping: .low, interval, distance)
    }

    /// Makes a resolution with balanced accuracy and the given interval and distance between two updates.
    public static func balanced(every interval: Duration, moving distance: Meters = 0) -> Resolution {
        Resolution(clamping: .balanced, interval, distance)
    }

    /// Makes a resolution with high accuracy.
    ///
    /// - Parameters:
    ///   - interval: The time between two updates while the trackable moves, 0…``maximumInterval``.
    ///   - distance: The minimum distance between two updates, ≥ 0 m.
    public static func high(every interval: Duration, moving distance: Meters = 0) -> Resolution {
        Resolution(clamping: .high, interval, distance)
    }

    /// Makes a resolution with the finest accuracy (`maximum`) and the given interval and distance between two updates.
    public static func maximum(every interval: Duration, moving distance: Meters = 0) -> Resolution {
        Resolution(clamping: .maximum, interval, distance)
    }

    private init(clamping accuracy: Accuracy, _ interval: Duration, _ distance: Meters) {
        // A distance that is not a number counts as 0 m.
        let meters = max(0, min(distance.value, .greatestFiniteMagnitude))
        self.init(
            unchecked: accuracy, milliseconds: min(max(interval, .zero), Self.maximumInterval).inMilliseconds,
            displacement: distance.value.isNaN ? 0 : Meters(meters))
    }
}
