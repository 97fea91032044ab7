import TrackingCore

/// Reading the JSON that a record came as; the stream is that of its row, whatever it says itself.
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
    /// The keys of the recent streams with commas between, as the tables have them.
    var recentNumbers: String {
        self.recent.compactMap { self.streams[$0].map { String($0.number) } }.joined(separator: ",")
    }
}
