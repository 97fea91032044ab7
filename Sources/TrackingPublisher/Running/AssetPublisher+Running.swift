import Logging
import TrackingCore

/// Functions that run a publisher which reads the device's sources of fixes and its battery.
extension AssetPublisher {
    /// Tracks a trackable and makes it the publisher's active trackable (see ``active``).
    ///
    /// - Parameter name: The trackable's name, written as a literal in the program: 1 to 128 bytes without control
    ///   characters. An invalid name stops the program. For a name that is only known at run time, make a
    ///   ``Trackable``.
    public func track(_ name: StaticString) { self.track(Trackable(TrackableID(literal: name))) }

    /// Runs the publisher with one source of fixes, until the source ends, ``finish(within:)``, a graceful shutdown, or
    /// cancellation. Call this function once, in place of ``run()``.
    ///
    ///     try await publisher.run(reading: .gpsd(), battery: .system)
    ///
    /// The resolution in force goes to the source, so that a receiver measures only as often as the watchers, the
    /// destination and the battery require. A receiver that breaks is tried again after 1, 2, 4 … 60 s.
    ///
    /// - Parameters:
    ///   - source: The source of fixes.
    ///   - battery: The battery whose charge goes with the fixes and lowers the resolution.
    /// - Throws: `inputUnreadable` when a recording cannot be read; the errors of ``run()``.
    public func run<Source: LocationSource, Battery: BatterySource>(
        reading source: Source, battery: Battery = LinuxBattery()
    ) async throws {
        try await self.run(reading: [source], battery: battery)
    }

    /// Runs the publisher with several sources of fixes: the least accurate one, and so the cheapest, whose class of
    /// accuracy meets the wanted one is read, or else the most accurate one. While that source is broken, the next best
    /// one takes its place.
    ///
    /// - Parameters:
    ///   - sources: The sources of fixes, at least one. Among equal sources, the first one is preferred.
    ///   - battery: The battery; `nil` leaves the charge unknown.
    /// - Throws: `invalidConfiguration` without a source; `inputUnreadable` when a recording cannot be read; the errors
    ///   of ``run()``.
    public func run(reading sources: [any LocationSource], battery: (any BatterySource)?) async throws {
        guard !sources.isEmpty else {
            throw TrackingError(
                .invalidConfiguration, "cannot run the publisher: there is no source of fixes. Pass at least one source"
            )
        }
        let reader = SourceReader<Transport>(sources, logger: self.logger)
        reader.relay.connect(to: self)
        let failure = try await withThrowingTaskGroup(of: TrackingError?.self) { group in
            group.addTask { await self.read(with: reader) }
            try await self.run(steering: reader, battery: battery)
            reader.relay.finish()
            group.cancelAll()
            return try await group.next() ?? nil
        }
        if let failure { throw failure }
    }

    /// Runs the publisher, passes its resolutions to a reader of sources, and reads the battery's charge into the
    /// publisher.
    ///
    /// The caller runs the reader, which may outlive this publisher.
    ///
    /// - Throws: The errors of ``run()``.
    package func run(steering reader: SourceReader<Transport>, battery: (any BatterySource)?) async throws {
        // Listening before the publisher runs, so that no resolution is missed.
        let resolutions = self.sensorResolutions
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await resolution in resolutions { await reader.use(resolution) } }
            group.addTask { await battery?.run { event in self.received(event) } }
            defer { group.cancelAll() }
            try await self.run()
        }
    }

    /// Passes fixes to the publisher until the sources end. Then has the publisher send everything recorded and stop.
    ///
    /// - Returns: The error of a recording that cannot be read; `nil` after an end or a cancellation.
    private func read(with reader: SourceReader<Transport>) async -> TrackingError? {
        do throws(TrackingError) {
            try await reader.run()
            if !Task.isCancelled { self.finish() }
            return nil
        } catch {
            self.finish(within: .seconds(5))
            return error
        }
    }

    private func received(_ event: BatteryEvent) {
        switch event {
        case .level(let percent): self.batteryRead(percent)
        case .badInput(let reason):
            self.logger.warning(
                "Battery level cannot be read: the publisher reports it as unknown. Check --battery, or the permissions of the battery's file",
                metadata: ["reason": "\(reason)"])
        }
    }
}
