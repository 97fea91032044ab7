import GodwitOptions
import TrackingControl
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// What a plan means for what runs.
extension AgentPlan {
    /// The publisher's configuration.
    ///
    /// - Throws: What the options' own rules say.
    func configuration(for identity: Identity) throws -> PublisherConfiguration {
        var configuration = try self.run.configuration(for: identity)
        configuration.isOn = self.settings.isOn
        return configuration
    }

    /// Whether this may have been asked for in order to be seen less than with `last`: it is switched off, or its zones are others.
    func mayHide(from last: AgentPlan) -> Bool {
        (last.settings.isOn && !self.settings.isOn) || self.options["zone"] != last.options["zone"]
    }

    /// The mode of trips for which nobody names one.
    var tripMode: TripMode {
        get throws(TrackingError) {
            if let mode = self.run.capture.automaticTrips { return mode }
            return try TripMode("car")
        }
    }

    /// The same, with one trackable going elsewhere, or nowhere.
    ///
    /// - Throws: `unknownTrackable`.
    func going(_ id: TrackableID, to destination: Coordinate?) throws -> AgentPlan {
        var carried = self.carried
        guard let place = carried.firstIndex(where: { $0.id == id }) else {
            throw CommandFailure(.unknownTrackable, "the agent does not carry '\(id)'")
        }
        carried[place].destination = destination
        return try self.carrying(carried)
    }
}

extension AgentStatus {
    /// How things stand with an agent that carries out `plan`.
    ///
    /// - Parameters:
    ///   - snapshot: `nil` while nothing runs.
    ///   - figures: As for `snapshot`.
    init(_ plan: AgentPlan, _ snapshot: PublisherSnapshot?, _ figures: LogFigures?, now: UnixTime) {
        let addresses = (try? plan.run.broker.addresses) ?? []
        let link = snapshot?.link
        self.init(
            time: snapshot?.time ?? now, isOn: plan.settings.isOn,
            connection: Connection(
                isUp: link?.isUp ?? false, broker: addresses.map(\.description).joined(separator: " "),
                since: link?.since, reason: link?.reason),
            mode: plan.run.capture.modeInForce(given: plan.run.defaultResolution) ?? .custom)
        self.sensorResolution = plan.settings.isOn ? snapshot?.sensorResolution : nil
        self.lastFix = snapshot?.lastFix
        self.battery = snapshot?.battery.map { $0 / 100 }
        self.trackables = (snapshot?.trackables ?? []).map { carried in
            Trackable(
                id: carried.id, state: carried.state, resolution: carried.resolution,
                destination: carried.destination, queue: figures?.trackables[carried.id] ?? SpoolAmount(),
                trip: carried.trip,
                refusal: (carried.failure ?? figures?.sending.refusals[carried.id])?.message)
        }
        guard let figures else { return }
        self.queue = figures.total
        self.dropped = figures.dropped
        self.quarantined = figures.quarantined
        self.lastAttempt = figures.sending.lastAttempt
        self.lastAcknowledged = figures.sending.lastAcknowledged
    }
}
