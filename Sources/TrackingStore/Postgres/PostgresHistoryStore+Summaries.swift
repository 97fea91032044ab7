public import TrackingCore

extension PostgresHistoryStore {
    /// Returns summaries of those given trackables that the history contains. See ``HistoryStore/summaries(of:)``.
    public func summaries(of trackables: [TrackableID]) async throws(TrackingError) -> [TrackableSummary] {
        try await self.reader.perform { connection throws(TrackingError) in
            let rows = try connection.run(
                """
                SELECT k.id, (SELECT min(p.time) FROM point p WHERE p.trackable = k.number), \(PostgresHistorySchema.lastTime), \
                (SELECT count(*) FROM stream s WHERE s.trackable = k.number) FROM trackable k WHERE k.id = ANY ($1) \
                ORDER BY k.id
                """, [.texts(trackables.map(\.rawValue))])
            return (0..<rows.count).compactMap { row in
                guard let id = try? TrackableID(rows.text(row, 0)) else { return nil }
                return TrackableSummary(
                    id: id, first: rows.optionalNumber(row, 1).map { UnixTime($0) },
                    last: rows.optionalNumber(row, 2).map { UnixTime($0) }, streams: Int(rows.integer(row, 3)))
            }
        }
    }

    /// Returns two times of the whole history: the time of its newest position, and the time at which the last presence
    /// or resolution was received. See ``HistoryStore/newest()``.
    public func newest() async throws(TrackingError) -> NewestTimes {
        try await self.reader.perform { connection throws(TrackingError) in
            let rows = try connection.run(
                "SELECT (SELECT max(last_time) FROM trackable), (SELECT max(received) FROM state)")
            return NewestTimes(
                position: rows.optionalNumber(0, 0).map { UnixTime($0) },
                state: rows.optionalNumber(0, 1).map { UnixTime($0) })
        }
    }
}
