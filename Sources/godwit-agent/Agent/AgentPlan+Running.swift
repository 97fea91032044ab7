import GodwitOptions
import TrackingControl
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// Conversions of an agent's plan (its settings in force) to the publisher's configuration and to the agent's status.
extension AgentPlan {
    /// Returns the configuration of the publisher that follows from this plan.
    ///
    /// - Throws: `ValidationError` or `TrackingError` that names the invalid option and the rule for its values.
    func configuration(for identity: Identity) throws -> PublisherConfiguration {
        var configuration = try self.run.configuration(for: identity)
        configuration.isOn = self.settings.isOn
        return configuration
    }

    /// Returns `true` if replacing the plan `last` by this plan may hide positions: this plan switches the agent off,
    /// or has other privacy zones.
    func mayHide(from last: AgentPlan) -> Bool {
        (last.settings.isOn && !self.settings.isOn) || self.options["zone"] != last.options["zone"]
    }

    /// The mode of travel for a trip that is started without a mode: the one given by `--automatic-trips`, otherwise
    /// `car`.
    var tripMode: TripMode {
        get throws(TrackingError) {
            if let mode = self.run.capture.automaticTrips { return mode }
            return try TripMode("car")
        }
    }

    /// Returns a plan in which a tracked trackable has another destination, or none (`nil`).
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
    /// Makes the status report of an agent whose settings are those of `plan`.
    ///
    /// - Parameters:
    ///   - snapshot: The state of the publisher; `nil` while no publisher runs.
    ///   - figures: The counts of records in the device's log; `nil` while no publisher runs.
    ///   - now: The time of the report by the device's clock, if there is no snapshot.
    init(_ plan: AgentPlan, _ snapshot: PublisherSnapshot?, _ figures: LogFigures?, now: UnixTime) {
        let link = snapshot?.link
        self.init(
            time: snapshot?.time ?? now, isOn: plan.settings.isOn,
            connection: Connection(
                isUp: link?.isUp ?? false, broker: plan.run.servers,
                since: link?.since, reason: link?.reason),
            mode: plan.run.capture.modeInForce ?? .custom)
        self.recorders = ((try? plan.run.recording.recorders()) ?? []).sorted()
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
        self.unwritten = figures.unwritten
        self.writeFailure = figures.writeFailure?.message
        self.lastAttempt = figures.sending.lastAttempt
        self.lastAcknowledged = figures.sending.lastAcknowledged
    }
}
