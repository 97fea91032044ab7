import TrackingCore
package import TrackingStore
package import TrackingSubscriber

extension HistoryStore {
    /// Reads the points of a trackable from a time on, for who was not there when they were live.
    package var recordedPoints: RecordedPoints {
        { id, from, after throws(TrackingError) in
            let page = try await self.points(PointQuery(id, during: TimeSpan(from: from)), after: after, limit: 1000)
            return (page.points.filter { !$0.hasClockFault }.map(\.location), page.next)
        }
    }
}
