import TrackingCore

/// Detects a low battery for one trackable. The state of the detection is stored in the log, so that it survives a
/// restart.
struct LowBatteryReport: Sendable {
    /// Detects that the battery's charge fell below the threshold; `nil` if low batteries are not reported for this
    /// trackable.
    private var detector: LowBatteryDetector?
    /// The encoded state of the low-battery detection, as the log stores it; `nil` if there is none. With it, a restart
    /// does not report the same low battery again.
    private(set) var stored: [UInt8]?

    /// Makes a detection that continues from a state that an earlier run stored in the log.
    ///
    /// - Parameter standard: The device's detector, for a trackable without a threshold of its own.
    init(of trackable: Trackable, default standard: LowBatteryDetector?, stored: [UInt8]?) {
        self.detector = Self.detector(of: trackable, default: standard)
        self.stored = stored
        if let stored { self.detector?.restore(stored) }
    }

    /// Begins to use the trackable's own low-battery threshold or, without one, the device's. If that differs from the
    /// threshold in use, a low battery can be reported again.
    mutating func use(_ trackable: Trackable, default standard: LowBatteryDetector?) {
        let next = Self.detector(of: trackable, default: standard)
        if next?.threshold != self.detector?.threshold { self.detector = next }
    }

    /// Handles a reading of the battery.
    ///
    /// - Parameters:
    ///   - percent: The charge, 0…100; `nil` if it is unknown.
    ///   - id: The name of the trackable.
    /// - Returns: The outputs that store a new state of detection in the log, together with the event. `detail` is the
    ///   detail of the event to record; `nil` unless the charge fell below the threshold.
    mutating func read(
        _ percent: Double?, of id: TrackableID
    ) -> (outputs: [TrackableStateMachine.Output], detail: [String: TrackingEvent.DetailValue]?) {
        guard let percent else { return ([], nil) }
        let isCrossing = self.detector?.read(percent) == true
        let isChanged = self.stored != self.detector?.kept
        self.stored = self.detector?.kept
        let outputs = isChanged ? [StoredValues.Key.lowBattery.keep(self.stored, of: id)] : []
        return (outputs, isCrossing ? ["percent": .number(LowBatteryDetector.rounded(percent))] : nil)
    }

    /// Returns a detector with the trackable's own threshold, or else the device's detector.
    private static func detector(of trackable: Trackable, default standard: LowBatteryDetector?) -> LowBatteryDetector?
    {
        guard let own = trackable.constraints?.batteryLevelThreshold, own > 0 else { return standard }
        return try? LowBatteryDetector(threshold: own)
    }
}
