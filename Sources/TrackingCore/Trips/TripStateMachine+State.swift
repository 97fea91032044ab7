extension TripStateMachine {
    /// Returns the state of the trip in progress as JSON; `nil` without a trip in progress.
    ///
    /// The caller stores this state, so that the trip can continue after a restart of the program. The caller does so
    /// in the same transaction as each recorded point and each version of the trip. In a transaction with several of
    /// them, the caller stores the state once, at the end.
    public func encoded(at moment: Moment) -> [UInt8]? {
        guard let journey = self.journey else { return nil }
        let trip = Self.updated(journey, at: moment)
        var writer = JSONWriter(capacity: 1536)
        writer.raw("{")
        writer.name("trip")
        MessageCodec.encode(trip).withUnsafeBufferPointer { writer.raw($0) }
        if let counted = journey.counted {
            writer.name("counted")
            writer.feature(counted)
        }
        writer.member("wall", moment.wall.seconds, .time)
        writer.member("news", journey.hasNews)
        writer.raw("}")
        return writer.bytes
    }

    /// Resumes the trip that was in progress when the program ended.
    ///
    /// The time during which the program did not run counts as part of the trip's duration, measured by the device's
    /// clock. If the clock was set back or set for the first time meanwhile, this time does not count.
    ///
    /// - Parameters:
    ///   - bytes: The stored state.
    ///   - moment: The time on both clocks.
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a state that is not JSON or has a wrong member, which the
    ///   message names; ``TrackingError/Code/payloadTooLarge``. The machine then remains unchanged.
    public mutating func restore(_ bytes: [UInt8], at moment: Moment) throws(TrackingError) {
        let state = try JSONObject(payload: bytes)
        let tripBytes = try state.required("trip") { json throws(Refusal) in
            let start = json.position
            try json.skipValue()
            return Array(json.read(since: start))
        }
        var trip = try MessageCodec.decodeStoredTrip(tripBytes)
        guard trip.state == .active else {
            throw TrackingError(.invalidPayload, "cannot resume the stored trip: trip.state must be ACTIVE")
        }
        let counted = try state.optional("counted") { json throws(Refusal) in try json.feature(.location) }
        let wall = UnixTime(try state.required("wall") { json throws(Refusal) in try json.number(.time) })
        let hasNews = try state.optional("news") { json throws(Refusal) in try json.flag() } ?? false
        let between = Self.isSet(wall) == Self.isSet(moment.wall) ? max(0, moment.wall.since(wall).inSeconds) : 0
        // The duration is limited to the range of times.
        trip.duration = min(trip.duration + between, NumberRule.time.highest)
        let startedNow = moment.now.advanced(by: .zero - .seconds(trip.duration))
        self.journey = Journey(
            trip: trip, counted: counted, startedNow: startedNow, lastVersion: moment.now, lastFix: moment.now,
            hasNews: hasNews)
    }
}
