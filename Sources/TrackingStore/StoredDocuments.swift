import TrackingCore

/// The reading of trips from the JSON with which they were received. The stream is that of the row, whatever the JSON
/// states.
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
    /// The keys of the recent streams, separated by commas, as the tables store them.
    var recentNumbers: String {
        self.recent.compactMap { self.streams[$0].map { String($0.number) } }.joined(separator: ",")
    }
}
