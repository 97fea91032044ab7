import TrackingCore

/// The last version of each trackable's trip that webhooks are told: the broker tells what it keeps of them again on each
/// connection.
struct ToldTrips {
    private var known: [TrackableID: RecordName]
    private var changed: Set<TrackableID> = []

    /// Starts with what was kept.
    init(_ known: [TrackableID: RecordName] = [:]) { self.known = known }

    /// Whether this version is newer than the last of its stream, or of another stream; it counts as told then.
    mutating func isNews(_ trip: Trip, of id: TrackableID) -> Bool {
        if let last = self.known[id], last.stream == trip.stream, trip.seq <= last.seq { return false }
        self.known[id] = RecordName(stream: trip.stream, seq: trip.seq)
        self.changed.insert(id)
        return true
    }

    /// What is to be kept, of the trackables that something changed of since the last call.
    mutating func takeChanges() -> [(TrackableID, RecordName)] {
        defer { self.changed = [] }
        return self.changed.compactMap { id in self.known[id].map { (id, $0) } }
    }
}
