import TrackingCore
import TrackingStore

extension HistoryStore {
    /// Returns the names of a trackable's points, in the order of the history. A point that is stored twice is in the
    /// list twice.
    func storedNames(of id: TrackableID) async throws -> [TestRecorder.Name] {
        var names: [TestRecorder.Name] = []
        try await self.readAll(PointQuery(id), pageSize: 10_000) { page in
            names += page.compactMap { point in
                guard let stream = point.location.stream, let seq = point.location.seq else { return nil }
                return TestRecorder.Name(stream: stream, seq: seq)
            }
        }
        return names
    }
}
