import GodwitOptions
import TrackingControl
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// Conversions of an agent's plan for the publisher and for the agent's status.
extension AgentPlan {
    /// Returns the publisher's configuration that the plan describes.
    ///
    /// - Throws: `ValidationError` or `TrackingError` that names the invalid option and the rule for its values.
    func configuration(for identity: Identity) throws -> PublisherConfiguration {
        var configuration = try self.run.configuration(for: identity)
        configuration.isOn = self.settings.isOn
        return configuration
    }

    /// Returns `true` if this plan may hide positions that the plan `last` shows: it switches the agent off, or its
    /// privacy zones differ.
    func mayHide(from last: AgentPlan) -> Bool {
        (last.settings.isOn && !self.settings.isOn) || self.options["zone"] != last.options["zone"]
    }

    /// The mode of travel of a trip that is started without one: that of `--automatic-trips`, else `car`.
    var tripMode: TripMode {
        get throws(TrackingError) {
            if let mode = self.run.capture.automaticTrips { return mode }
            return try TripMode("car")
        }
    }

    /// Returns the plan with another destination of a tracked trackable; `nil` removes the destination.
    ///
    /// - Throws: `unknownTrackable` if the agent does not track the trackable.
    func going(_ id: TrackableID, to destination: Coordinate?) throws -> AgentPlan {
        var tracked = self.tracked
        guard let place = tracked.firstIndex(where: { $0.id == id }) else {
            throw CommandFailure(
                .unknownTrackable, "the agent does not track '\(id)'. godwit-agent status lists the tracked trackables")
        }
        tracked[place].destination = destination
        return try self.tracking(tracked)
    }
}

extension AgentStatus {
    /// Makes the status of an agent that follows `plan`.
    ///
    /// - Parameters:
    ///   - snapshot: The state of the publisher; `nil` while no publisher runs.
    ///   - figures: The counts of records in the log; `nil` while no publisher runs.
    ///   - now: The time of a status without a snapshot, by the device's clock.
    init(_ plan: AgentPlan, _ snapshot: PublisherSnapshot?, _ figures: LogFigures?, now: UnixTime) {
        let addresses = (try? plan.run.broker.addresses) ?? []
        let link = snapshot?.link
        self.init(
            time: snapshot?.time ?? now, isOn: plan.settings.isOn,
            connection: Connection(
                isUp: link?.isUp ?? false, broker: addresses.map(\.description).joined(separator: " "),
                since: link?.since, reason: link?.reason),
            mode: plan.run.capture.modeInForce ?? .custom)
        self.sensorResolution = plan.settings.isOn ? snapshot?.sensorResolution : nil
        self.lastFix = snapshot?.lastFix
        self.battery = snapshot?.battery.map { $0 / 100 }
        self.trackables = (snapshot?.trackables ?? []).map { tracked in
            Trackable(
                id: tracked.id, state: tracked.state, resolution: tracked.resolution,
                destination: tracked.destination, queue: figures?.trackables[tracked.id] ?? SpoolAmount(),
                trip: tracked.trip,
                refusal: (tracked.failure ?? figures?.sending.refusals[tracked.id])?.message)
        }
        guard let figures else { return }
        self.queue = figures.total
        self.dropped = figures.dropped
        self.quarantined = figures.quarantined
        self.lastAttempt = figures.sending.lastAttempt
        self.lastAcknowledged = figures.sending.lastAcknowledged
    }
}
