import TrackingCore

/// A publisher's knowledge of its device: the clock, the battery, and the resolution of the receiver.
struct DeviceState: Sendable {
    private var clock = ClockStep()
    /// Decides whether the device's clock can be trusted to remove records because of their age.
    private(set) var ages = AgeTrust()
    /// The charge of the battery in percent; `nil` is unknown.
    private(set) var battery: Double?
    /// The resolution that the publisher last requested from the source of fixes; `nil` before the first request.
    private(set) var sensor: Resolution?

    /// Compares the present readings of the device's clock and of its monotonic clock with the last readings, to detect
    /// that the device's clock was set.
    ///
    /// - Returns: The time by which the device's clock was set since; `nil` if it was not set.
    mutating func clockStep(at device: Moment) -> Duration? {
        let step = self.clock.didRead(monotonic: device.now, wall: device.wall)
        if let step { self.ages.clockStepped(by: step) }
        return step
    }

    /// Stores the charge of the device's battery in percent; `nil` is unknown.
    mutating func batteryRead(_ percent: Double?) { self.battery = percent }

    /// Handles a fix of the source: its time may confirm the device's clock.
    ///
    /// - Parameter wall: The time of the device's clock.
    mutating func moved(_ fix: Location, wall: UnixTime) { self.ages.moved(fix, wall: wall) }

    /// Returns a fix with the charge of the battery, unless the source gave one.
    func withBattery(_ fix: Location) -> Location {
        var fix = fix
        if fix.batteryLevel == nil, let battery = self.battery { fix.batteryLevel = battery / 100 }
        return fix
    }

    /// Decides if another resolution is requested from the source of fixes, and remembers it as requested.
    ///
    /// - Parameters:
    ///   - constant: The configured resolution of the receiver, which depends on no trackable; `nil` for none.
    ///   - isAtOnce: `true` while a caller waits for a fix. The interval is then at most one second.
    ///   - finest: Returns the configured resolution, or else the finest of all trackables. It is called only if
    ///     necessary.
    /// - Returns: The resolution to request; `nil` if it was requested last.
    mutating func requestSensor(constant: Resolution?, isAtOnce: Bool, finest: () -> Resolution) -> Resolution? {
        if let constant, !isAtOnce, self.sensor == constant { return nil }
        let next = isAtOnce ? finest().atOnce : finest()
        guard next != self.sensor else { return nil }
        self.sensor = next
        return next
    }
}
