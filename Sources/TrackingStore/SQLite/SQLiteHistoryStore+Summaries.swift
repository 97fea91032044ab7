import GRDB
public import TrackingCore
import TrackingSQLite

extension SQLiteHistoryStore {
    /// Returns summaries of the given trackables; a trackable that is not in the history is left out. See
    /// ``HistoryStore/summaries(of:)``.
    public func summaries(of trackables: [TrackableID]) async throws(TrackingError) -> [TrackableSummary] {
        try await self.read { db in
            let row = try DirectStatement(
                """
                SELECT (SELECT p.time FROM point p WHERE p.trackable = k.number ORDER BY p.time LIMIT 1), \(SQLiteHistorySchema.lastTime), \
                (SELECT count(*) FROM stream s WHERE s.trackable = k.number) FROM trackable k WHERE k.id = ?1
                """, in: db)
            var found: [TrackableSummary] = []
            for id in Set(trackables).sorted() {
                defer { row.reset() }
                row.bind(id.rawValue, 1)
                guard try row.step() else { continue }
                found.append(
                    TrackableSummary(
                        id: id, first: row.optionalNumber(0).map { UnixTime($0) },
                        last: row.optionalNumber(1).map { UnixTime($0) }, streams: Int(row.integer(2))))
            }
            return found
        }
    }

    /// Returns two times of the whole history: the time of its newest position, and the time at which the last presence
    /// or resolution was received. See ``HistoryStore/newest()``.
    public func newest() async throws(TrackingError) -> NewestTimes {
        try await self.read { db in
            NewestTimes(
                position: try Double.fetchOne(db, sql: "SELECT max(last_time) FROM trackable").map { UnixTime($0) },
                state: try Double.fetchOne(db, sql: "SELECT max(received) FROM state").map { UnixTime($0) })
        }
    }
}
