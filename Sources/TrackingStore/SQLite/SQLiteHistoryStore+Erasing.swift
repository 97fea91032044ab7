import GRDB
public import TrackingCore
import TrackingSQLite

/// Erases records from the SQLite history on request, and removes records that are older than a limit.
extension SQLiteHistoryStore {
    /// Erases records of a trackable for good; see ``HistoryStore/erase(_:before:now:)``.
    ///
    /// SQLite overwrites the deleted data. Then the whole file is rewritten and the write-ahead log is emptied. The
    /// rewriting needs disk space for a second copy of the file.
    public func erase(
        _ trackable: TrackableID, before: UnixTime?, now: UnixTime
    ) async throws(TrackingError) -> EraseReport {
        var report = try await self.write { db, ledger in
            defer { ledger = RecordingLedger() }
            try db.execute(sql: "PRAGMA secure_delete = ON")
            try Self.settle(trackable, db)
            var erasing = Erasing(of: try SQLiteLedger.load(trackable, db) ?? SQLiteLedger.insert(trackable, db))
            try erasing.run(trackable, before: before, now: now, db)
            return erasing.report
        }
        do {
            try await self.rewrite()
        } catch {
            report.remains = ["\(self.path) and \(self.path)-wal: \(Self.remedy(for: error))"]
        }
        return report
    }

    /// Updates the rows of a trackable and its stream with the stored points that the rows do not reflect yet.
    private static func settle(_ id: TrackableID, _ db: Database) throws {
        guard let trackable = try SQLiteLedger.load(id, db), trackable.tail != nil else { return }
        var ledger = RecordingLedger()
        ledger.fill(id, trackable)
        _ = try ledger.settle(id).write(to: db)
    }

    /// Rewrites the whole database file without the erased data, and empties the write-ahead log. Afterwards, SQLite no
    /// longer overwrites deleted data.
    private func rewrite() async throws {
        try await self.pool.vacuum()
        try await self.pool.writeWithoutTransaction { db in
            _ = try db.checkpoint(.truncate)
            try db.execute(sql: "PRAGMA secure_delete = OFF")
        }
    }

    /// Returns the reason why the database file could not be rewritten after an erasure, and advice for the user.
    private static func remedy(for error: any Error) -> String {
        guard let error = DatabaseError.converted(error) as? DatabaseError else { return "\(error); erase again" }
        let advice =
            switch error.resultCode {
            case .SQLITE_BUSY, .SQLITE_LOCKED: "erase again when no program reads it"
            case .SQLITE_FULL, .SQLITE_IOERR:
                "erase again when there is room for a second copy of it, in its folder and for temporary files"
            default: "erase again"
            }
        return "\(error.message ?? "") (SQLite \(error.extendedResultCode.rawValue)); \(advice)"
    }

    /// Removes records of the given trackables, or of all, that are older than a limit, in several transactions. See
    /// ``HistoryStore/removeExpired(before:of:except:)``.
    public func removeExpired(
        before limit: UnixTime, of trackables: [TrackableID]?, except exceptions: Set<TrackableID>
    ) async throws(TrackingError) -> Int {
        let last = limit.seconds.nextDown
        let due = try await self.read { db in
            try String.fetchAll(
                db, sql: "SELECT id FROM trackable t WHERE \(ExpiringTable.hasRows(of: "t.number", through: "?1"))",
                arguments: [last])
        }
        let chosen = trackables.map(Set.init)
        var removed = 0
        for id in due.lazy.compactMap({ try? TrackableID($0) }) {
            guard chosen?.contains(id) ?? !exceptions.contains(id) else { continue }
            var part: RemovedPart
            repeat {
                guard !Task.isCancelled else { return removed }
                part = try await self.write { db, ledger in try Self.removePart(through: last, of: id, db, &ledger) }
                removed += part.records
            } while part.isFull
        }
        try await self.write { db, _ in try Self.removeSetAside(before: limit, of: trackables, except: exceptions, db) }
        return removed
    }

    private static func removePart(
        through last: Double, of id: TrackableID, _ db: Database, _ ledger: inout RecordingLedger
    ) throws -> RemovedPart {
        var part = RemovedPart()
        guard let number = try Self.number(of: id, db) else { return part }
        try Self.settle(id, db)
        for table in ExpiringTable.allCases where !part.isFull {
            let deletion = try DirectStatement(table.deletion(of: "?1", through: "?2", offset: "?3"), in: db)
            deletion.bind(number, 1)
            deletion.bind(last, 2)
            deletion.bind(Int64(part.room - 1), 3)
            try deletion.run()
            part.removed(db.changesCount, of: table)
        }
        ledger.forget(id)
        guard !part.isFull else { return part }
        let runs = "SELECT number FROM run WHERE trackable = ? AND last <= ?"
        for sql in [
            "DELETE FROM run_box WHERE number IN (\(runs))", "DELETE FROM run WHERE number IN (\(runs))",
            """
            UPDATE trackable SET last_time = NULL, last_stream = NULL, last_seq = NULL WHERE number = ? AND last_time <= ?
            """,
            """
            UPDATE trackable SET run_first = NULL, run_last = NULL, run_south = NULL, run_west = NULL, run_north = NULL, \
            run_east = NULL, run_count = NULL WHERE number = ? AND run_last <= ?
            """,
        ] {
            try db.execute(sql: sql, arguments: [number, last])
        }
        return part
    }

    private static func removeSetAside(
        before limit: UnixTime, of trackables: [TrackableID]?, except exceptions: Set<TrackableID>, _ db: Database
    ) throws {
        func list(_ ids: some Sequence<TrackableID>) -> [UInt8] { JSONValue.list(ids.map { .text($0.rawValue) }).json }
        let deletion = try DirectStatement(
            """
            DELETE FROM quarantine WHERE received < ?1 \
            AND (?2 IS NULL OR trackable IN (SELECT value FROM json_each(?2))) \
            AND (trackable IS NULL OR trackable NOT IN (SELECT value FROM json_each(?3)))
            """, in: db)
        deletion.bind(limit.seconds, 1)
        deletion.bind(text: trackables.map(list), 2)
        deletion.bind(text: list(exceptions), 3)
        try deletion.run()
    }
}

/// Erases the records of one trackable in one transaction: all of them, or those before a time.
private struct Erasing {
    private(set) var report = EraseReport()
    private var trackable: RecordingLedger.Trackable

    init(of trackable: RecordingLedger.Trackable) { self.trackable = trackable }

    mutating func run(_ id: TrackableID, before: UnixTime?, now: UnixTime, _ db: Database) throws {
        let limit = before?.seconds ?? .infinity
        try self.mark(before: limit, db)
        self.report.points = try self.delete("point", "time", limit, db)
        self.report.events = try self.delete("event", "time", limit, db)
        self.report.trips = try self.delete("trip", "start", limit, db)
        self.report.states = try self.delete("state", "received", limit, db)
        // The times of unreadable messages are unknown, so all quarantined messages of the trackable are erased.
        try db.execute(sql: "DELETE FROM quarantine WHERE trackable = ?", arguments: [id.rawValue])
        self.report.quarantined = db.changesCount
        try self.rebuildRuns(before: limit, db)
        let erasedBefore = min(before ?? now, now)
        self.trackable.erasedBefore = max(erasedBefore, self.trackable.erasedBefore ?? erasedBefore)
        self.trackable.last = try self.lastPosition(db)
        try self.trackable.write(to: db)
    }

    private func delete(_ table: String, _ column: String, _ limit: Double, _ db: Database) throws -> Int {
        try db.execute(
            sql: "DELETE FROM \(table) WHERE trackable = ? AND \(column) < ?",
            arguments: [self.trackable.number, limit])
        return db.changesCount
    }

    /// Marks the numbers of the records that will be erased, and of all quarantined records, as erased. For each
    /// stream, the history then knows that these records were erased and are not missing.
    private func mark(before limit: Double, _ db: Database) throws {
        let number = self.trackable.number
        let erased = limit == .infinity ? [:] : try self.seqs(before: limit, db)
        for stream in try Int64.fetchAll(db, sql: "SELECT number FROM stream WHERE trackable = ?", arguments: [number])
        {
            let known = try SQLiteLedger.stream(number: stream, end: nil, db).coverage
            var coverage = known
            if limit == .infinity {
                coverage.erase(.stored)
            } else {
                for seqs in erased[stream]?.ranges ?? [] { coverage.declare(seqs, .erased) }
            }
            coverage.erase(.refused)
            try db.execute(sql: "DELETE FROM coverage WHERE stream = ?", arguments: [stream])
            for range in coverage.ranges { try range.write(stream, db) }
        }
    }

    /// Returns the numbers of the trackable's records with times before `limit`, by stream.
    private func seqs(before limit: Double, _ db: Database) throws -> [Int64: SeqSet] {
        let row = try DirectStatement(
            """
            SELECT stream, seq FROM point WHERE trackable = ?1 AND time < ?2 AND stream <> 0 UNION ALL \
            SELECT stream, seq FROM event WHERE trackable = ?1 AND time < ?2 UNION ALL \
            SELECT stream, seq FROM trip WHERE trackable = ?1 AND start < ?2
            """, in: db)
        defer { row.reset() }
        row.bind(self.trackable.number, 1)
        row.bind(limit, 2)
        var seqs: [Int64: SeqSet] = [:]
        while try row.step() { seqs[row.integer(0), default: SeqSet()].insert(UInt64(clamping: row.integer(1))) }
        return seqs
    }

    /// Computes the runs again from the remaining points. A run is the bounding box of consecutive points, and an old
    /// box would reveal the places of erased points.
    private mutating func rebuildRuns(before limit: Double, _ db: Database) throws {
        let number = self.trackable.number
        let last = try Double.fetchOne(
            db, sql: "SELECT max(last) FROM run WHERE trackable = ? AND first < ?", arguments: [number, limit])
        let runs = "SELECT number FROM run WHERE trackable = ? AND first < ?"
        try db.execute(sql: "DELETE FROM run_box WHERE number IN (\(runs))", arguments: [number, limit])
        try db.execute(sql: "DELETE FROM run WHERE trackable = ? AND first < ?", arguments: [number, limit])
        var end = last ?? -.infinity
        if let open = self.trackable.run, open.first.seconds < limit {
            end = max(end, open.last.seconds)
            self.trackable.run = nil
        }
        guard limit.isFinite, end >= limit else { return }
        let row = try DirectStatement(
            "SELECT time, latitude, longitude FROM point WHERE trackable = ? AND time BETWEEN ? AND ? ORDER BY time",
            in: db)
        defer { row.reset() }
        row.bind(number, 1)
        row.bind(limit, 2)
        row.bind(end, 3)
        var points: [(place: Coordinate, time: UnixTime)] = []
        while try row.step() {
            guard let place = Coordinate(latitude: row.number(1), longitude: row.number(2)) else { continue }
            points.append((place, UnixTime(row.number(0))))
        }
        for run in PointRun.runs(of: points) { try RunRow(number, run).write(to: db) }
    }

    private func lastPosition(_ db: Database) throws -> PointName? {
        let row = try DirectStatement(
            """
            SELECT time, stream, seq FROM point WHERE trackable = ? AND clock_fault = 0 \
            ORDER BY time DESC, stream DESC, seq DESC LIMIT 1
            """, in: db)
        defer { row.reset() }
        row.bind(self.trackable.number, 1)
        guard try row.step() else { return nil }
        return PointName(time: UnixTime(row.number(0)), stream: row.integer(1), seq: row.integer(2))
    }
}
