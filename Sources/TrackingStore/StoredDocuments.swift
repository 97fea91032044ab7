import TrackingCore

/// Decodes a trip from the JSON in the history. The stream is taken from the database row, not from the JSON.
extension Trip {
    init?(stored json: [UInt8], stream: StreamID) {
        guard var trip = try? MessageCodec.decodeStoredTrip(json) else { return nil }
        trip.stream = stream
        self = trip
    }
}

extension TrackingEvent {
    init?(stored json: [UInt8], stream: StreamID) {
        guard var event = try? MessageCodec.decodeStoredEvent(json) else { return nil }
        event.stream = stream
        self = event
    }
}

extension RecordingLedger.Trackable {
    /// The database keys of the trackable's recent streams, separated by commas, as the column `recent` contains them.
    var recentNumbers: String {
        self.recent.compactMap { self.streams[$0].map { String($0.number) } }.joined(separator: ",")
    }
}
