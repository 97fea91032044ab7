import TrackingCore

/// The end of a trip that was under way when its trackable was removed.
struct Departure: Sendable {
    var trip: Trip
    /// As which it is told; `nil` where that was before this run.
    var event: TrackingEvent?
    /// Whether it is in the log, or could not be written.
    var isWritten = false
    /// Whether it was said on this connection.
    var isSaid = false
}

/// A trackable that is not carried any more is on no trip: its end is a record, and is told as any other once that is written.
extension PublisherStateMachine {
    /// What was kept of departures that the broker has not taken.
    static func departures(in kept: [String: [UInt8]]) -> [TrackableID: Departure] {
        kept.reduce(into: [:]) { departures, value in
            guard value.key.hasPrefix(Self.departureKey),
                let id = TrackableID(topicLevel: value.key.dropFirst(Self.departureKey.count)),
                let trip = try? MessageCodec.decodeTrip(value.value[...])
            else { return }
            departures[id] = Departure(trip: trip, isWritten: true)
        }
    }

    /// Where the log keeps departures, each under its trackable.
    private static let departureKey = "departed/"

    /// A trackable is about to be removed: the trip that is under way ends. What failed is recorded elsewhere, its trips as well.
    mutating func endTrip(of id: TrackableID, at moment: Moment) -> [Action] {
        guard let asset = self.assets[id], asset.failure == nil, asset.trip.current != nil,
            let change = try? self.assets[id]?.trip.stop(at: moment, next: asset.nextName)
        else { return [] }
        let actions = self.tripChanged(change, of: id, at: moment)
        let told = self.unsentEvents.take(of: id) { event, _ in event.kind == .tripEnded }
        self.departures[id] = Departure(trip: change.trip, event: told.last)
        return actions + self.keepDeparture(MessageCodec.encode(self.shown(change.trip)), of: id)
    }

    /// It is carried again before that was said: from now on it is said as all that concerns it.
    mutating func departureEnded(of id: TrackableID) -> [Action] {
        guard let departure = self.departures.removeValue(forKey: id) else { return [] }
        self.assets[id]?.unshownTrip = departure.trip
        if let event = departure.event { self.keepUnsent(event, of: id) }
        return self.keepDeparture(nil, of: id)
    }

    /// Records of a trackable that is not carried are in the log, or could not be written.
    mutating func departureWritten(_ seqs: SeqSet, of id: TrackableID) {
        if let departure = self.departures[id], seqs.contains(departure.event?.seq ?? departure.trip.seq) {
            self.departures[id]?.isWritten = true
        }
    }

    /// Says what was not said yet, as far as that may go now.
    mutating func sayDepartures(isAskedFor: Bool) -> [Action] {
        guard !self.departures.isEmpty, self.session.isAnnounced, self.configuration.isOn, isAskedFor else { return [] }
        return self.departures.filter { $0.value.isWritten && !$0.value.isSaid }.flatMap { id, departure in
            self.departures[id]?.isSaid = true
            let trip = Message(.trip(id), MessageCodec.encode(self.shown(departure.trip)))
            let event = departure.event.map { event in
                var shown = event
                shown.location = event.location.flatMap(self.shown)
                return Message(.event(id), MessageCodec.encode(shown))
            }
            let messages = [self.configuration.sendsLive ? trip : nil, event].compactMap { $0 }
            guard !messages.isEmpty else { return self.departureTaken(of: id) }
            return messages.map { self.publish($0.topic, $0.payload, .departure(id)) }
        }
    }

    private struct Message {
        var topic: Topic
        var payload: [UInt8]

        init(_ topic: Topic, _ payload: [UInt8]) {
            self.topic = topic
            self.payload = payload
        }
    }

    /// The broker took it, or another publisher says what stands there.
    mutating func departureTaken(of id: TrackableID) -> [Action] {
        self.departures.removeValue(forKey: id) == nil ? [] : self.keepDeparture(nil, of: id)
    }

    private mutating func keepDeparture(_ trip: [UInt8]?, of id: TrackableID) -> [Action] {
        [.log(id, .keep(Self.departureKey + id.topicLevel, trip))]
    }
}
