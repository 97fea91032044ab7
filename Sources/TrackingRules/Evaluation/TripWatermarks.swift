import TrackingCore

/// The last version of each trackable's trip that was queued for webhooks, called its watermark.
///
/// The broker sends its retained trips again after each connection. The watermarks prevent that a version is queued
/// twice.
struct TripWatermarks: Sendable {
    private var last: [TrackableID: RecordName]
    private var changed: Set<TrackableID> = []

    /// Creates the watermarks that an earlier run of the gateway saved: for each trackable, the last version of its
    /// trip that was queued for webhooks.
    init(_ saved: [TrackableID: RecordName] = [:]) { self.last = saved }

    /// Raises the watermark of a trackable to a version of its trip, if the version is newer.
    ///
    /// - Returns: `true` if the version is newer than the watermark or of another stream, so that it is to be queued.
    mutating func advance(to trip: Trip, of id: TrackableID) -> Bool {
        if let last = self.last[id], last.stream == trip.stream, trip.seq <= last.seq { return false }
        self.last[id] = RecordName(stream: trip.stream, seq: trip.seq)
        self.changed.insert(id)
        return true
    }

    /// Returns the watermarks, the last queued versions of trips, that changed since the last call.
    mutating func takeChanges() -> [TrackableID: RecordName] {
        defer { self.changed = [] }
        return self.changed.reduce(into: [:]) { $0[$1] = self.last[$1] }
    }
}
