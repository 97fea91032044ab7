import TrackingCore

/// The last version of each trackable's trip that was queued for webhooks. The broker sends its retained trips again
/// after each connection; the watermarks prevent that they are queued twice.
struct TripWatermarks: Sendable {
    private var last: [TrackableID: RecordName]
    private var changed: Set<TrackableID> = []

    /// Creates the watermarks from those that an earlier run of the gateway saved.
    init(_ saved: [TrackableID: RecordName] = [:]) { self.last = saved }

    /// Advances the watermark of a trackable to a version of its trip that is queued for webhooks.
    ///
    /// - Returns: `true` when the version is newer than the watermark, or of another stream.
    mutating func advance(to trip: Trip, of id: TrackableID) -> Bool {
        if let last = self.last[id], last.stream == trip.stream, trip.seq <= last.seq { return false }
        self.last[id] = RecordName(stream: trip.stream, seq: trip.seq)
        self.changed.insert(id)
        return true
    }

    /// Returns the trip watermarks that changed since the last call.
    mutating func takeChanges() -> [TrackableID: RecordName] {
        defer { self.changed = [] }
        return self.changed.reduce(into: [:]) { $0[$1] = self.last[$1] }
    }
}
