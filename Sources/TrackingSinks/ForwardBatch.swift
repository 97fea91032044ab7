package import TrackingCore

/// The points of one trackable that are sent to a sink in one request.
package struct ForwardBatch: Hashable, Sendable {
    /// The trackable of the points.
    package var trackable: TrackableID
    /// The points, in the order in which they were stored; at least one.
    package var points: [Location]
    /// The last position of the trackable, if further points wait in the queue; otherwise `nil`.
    package var current: Location?
    /// The trip in progress; `nil` for none.
    package var trip: Trip?

    /// The largest number of bytes of a request with several points: 512 KiB, below the usual limits of servers and
    /// proxies (nginx: 1 MB). A single larger point is sent alone.
    package static let maximumBytes = 524_288

    /// Makes a batch.
    package init(trackable: TrackableID, points: [Location], current: Location? = nil, trip: Trip? = nil) {
        self.trackable = trackable
        self.points = points
        self.current = current
        self.trip = trip
    }

    /// The JSON of an Overland request with the first of the points: as many as fit into ``maximumBytes``, at least
    /// one. `count` is their number.
    package var overlandBody: (bytes: [UInt8], count: Int) {
        let rest = OverlandRequest.rest(of: self)
        return self.list(from: "{\"locations\":[", to: Array("]".utf8) + rest + Array("}".utf8)) {
            OverlandRequest.feature($0, of: self.trackable)
        }
    }

    /// The JSON of a batch of CloudEvents with the first of the points: as many as fit into ``maximumBytes``, at least
    /// one. `count` is their number.
    package var webhookBody: (bytes: [UInt8], count: Int) {
        self.list(from: "[", to: Array("]".utf8)) { CloudEvent.json($0, of: self.trackable) }
    }

    private func list(
        from start: String, to end: [UInt8], _ element: (Location) -> [UInt8]
    ) -> (bytes: [UInt8], count: Int) {
        var body = Array(start.utf8)
        var count = 0
        for point in self.points {
            let bytes = element(point)
            guard count == 0 || body.count + bytes.count + end.count + 1 <= Self.maximumBytes else { break }
            if count > 0 { body.append(UInt8(ascii: ",")) }
            body += bytes
            count += 1
        }
        return (body + end, count)
    }
}
