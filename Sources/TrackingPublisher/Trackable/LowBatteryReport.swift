import TrackingCore

/// The report of a low battery of one trackable: the crossing of the threshold, and the state of it that the log keeps.
struct LowBatteryReport: Sendable {
    /// Decides about the crossing; `nil` where none is reported.
    private var detector: LowBatteryDetector?
    /// The state that the log keeps; `nil` for none.
    private(set) var stored: [UInt8]?

    /// Goes on with a state that the log kept.
    ///
    /// - Parameter standard: The detector of the device, for a trackable without a threshold of its own.
    init(of trackable: Trackable, default standard: LowBatteryDetector?, stored: [UInt8]?) {
        self.detector = Self.detector(of: trackable, default: standard)
        self.stored = stored
        if let stored { self.detector?.restore(stored) }
    }

    /// The threshold may have changed. Crossing another threshold is another event.
    mutating func use(_ trackable: Trackable, default standard: LowBatteryDetector?) {
        let next = Self.detector(of: trackable, default: standard)
        if next?.threshold != self.detector?.threshold { self.detector = next }
    }

    /// The battery was read.
    ///
    /// - Parameter percent: The charge, 0…100.
    /// - Returns: Two Boolean values: `isCrossing` is `true` where the charge sank below the threshold, `isChanged` where
    ///   the log must store ``stored`` anew.
    mutating func read(_ percent: Double) -> (isCrossing: Bool, isChanged: Bool) {
        let isCrossing = self.detector?.read(percent) == true
        defer { self.stored = self.detector?.kept }
        return (isCrossing, self.stored != self.detector?.kept)
    }

    /// The trackable's own threshold takes the place of the device's.
    private static func detector(of trackable: Trackable, default standard: LowBatteryDetector?) -> LowBatteryDetector?
    {
        guard let own = trackable.constraints?.batteryLevelThreshold, own > 0 else { return standard }
        return try? LowBatteryDetector(threshold: own)
    }
}
