package import TrackingCore
package import TrackingHistory
package import TrackingStore

extension TripRow {
    /// Measures the distance of a trip along the roads through its recorded points. Does nothing for a stop. Ignores
    /// points with a wrong clock, and points that are too inaccurate for the detection of trips.
    ///
    /// - Throws: `engineUnavailable` when the engine does not answer, and the errors of the history.
    package mutating func measureRoads(
        of trackable: TrackableID, in history: any HistoryStore, by engine: any RoadEngine
    ) async throws {
        guard self.kind != "stop" else { return }
        let end = self.end?.seconds ?? self.start.seconds + self.duration
        let query = PointQuery(trackable, during: TimeSpan(from: self.start, to: UnixTime(end.nextUp)))
        let limit = TripDetector.Rules().maximumAccuracy
        var distance = RoadDistance(engine)
        try await history.readAll(query) { page in
            for point in page where !point.hasClockFault {
                guard Meters(point.location.accuracyHorizontal ?? 0) <= limit else { continue }
                try await distance.append(point.location)
            }
        }
        self.roadDistance = try await distance.finish().value
    }
}
