public import TrackingCore

/// The erasure of a trackable's records, and the removal of old records, in PostgreSQL.
extension PostgresHistoryStore {
    /// Erases a trackable's records. See ``HistoryStore/erase(_:before:now:)``. The tables and partitions are
    /// rewritten, so that their files contain no erased record. The report names the places on the server where erased
    /// data may remain.
    public func erase(
        _ trackable: TrackableID, before: UnixTime?, now: UnixTime
    ) async throws(TrackingError) -> EraseReport {
        try await self.write { connection, known throws(TrackingError) in
            defer { known.forget() }
            return try connection.waitingForLocks { () throws(TrackingError) in
                try known.settle(trackable, at: now, connection)
                guard let loaded = try PostgresLedger.load([trackable], connection).first else { return EraseReport() }
                var erasing = PostgresErasing(of: loaded.trackable, connection)
                try erasing.run(trackable, before: before, now: now)
                try connection.runAll("COMMIT")
                return erasing.rewrite()
            }
        }
    }

    /// Removes records of the given trackables, or of all, that are older than a limit, in several transactions. Also
    /// drops partitions that an earlier removal left empty. See ``HistoryStore/removeExpired(before:of:except:)``.
    public func removeExpired(
        before limit: UnixTime, of trackables: [TrackableID]?, except exceptions: Set<TrackableID>
    ) async throws(TrackingError) -> Int {
        let last = limit.seconds.nextDown
        let (chosen, others) = (
            trackables.map { PostgresValue.texts($0.map(\.rawValue)) } ?? .noTexts,
            PostgresValue.texts(exceptions.map(\.rawValue))
        )
        let due = try await self.reader.perform { connection throws(TrackingError) in
            let rows = try connection.run(
                """
                SELECT t.id FROM trackable t WHERE ($1 IS NULL OR t.id = ANY ($1)) AND t.id <> ALL ($2) \
                AND \(ExpiringTable.hasRows(of: "t.number", through: "$3")) ORDER BY t.number
                """, [chosen, others, .double(last)])
            return (0..<rows.count).compactMap { try? TrackableID(rows.text($0, 0)) }
        }
        var removed = 0
        for id in due {
            var part: RemovedPart
            repeat {
                guard !Task.isCancelled else { return removed }
                part = try await self.write { connection, known throws(TrackingError) in
                    try Self.removePart(through: last, of: id, connection, &known)
                }
                removed += part.records
            } while part.isFull
        }
        try await self.writer.perform { connection throws(TrackingError) in
            _ = try connection.run(
                """
                DELETE FROM quarantine WHERE received < $3 AND ($1 IS NULL OR trackable = ANY ($1)) \
                AND (trackable IS NULL OR trackable <> ALL ($2))
                """, [chosen, others, .double(limit.seconds)])
        }
        try await self.write { connection, known throws(TrackingError) in
            try known.dropEmptyPartitions(before: limit, connection)
        }
        return removed
    }

    private static func removePart(
        through last: Double, of id: TrackableID, _ connection: PostgresConnection, _ known: inout PostgresLedger
    ) throws(TrackingError) -> RemovedPart {
        var part = RemovedPart()
        guard let number = try known.settle(id, at: UnixTime(last), connection) else { return part }
        let values: [PostgresValue] = [.int(number), .double(last)]
        for table in ExpiringTable.allCases where !part.isFull {
            let deletion = table.deletion(of: "$1", through: "$2", offset: "$3")
            let rows = try connection.run(deletion, values + [.int(Int64(part.room - 1))]).changes
            part.removed(rows, of: table)
        }
        if !part.isFull {
            try connection.run("DELETE FROM run WHERE trackable = $1 AND last <= $2", values)
            try connection.run(
                """
                UPDATE trackable SET last_time = NULL, last_stream = NULL, last_seq = NULL \
                WHERE number = $1 AND last_time <= $2
                """, values)
            try connection.run(
                """
                UPDATE trackable SET run_first = NULL, run_last = NULL, run_south = NULL, run_west = NULL, run_north = NULL, \
                run_east = NULL, run_count = NULL WHERE number = $1 AND run_last <= $2
                """, values)
        }
        try connection.runAll("COMMIT")
        known.ledger.forget(id)
        return part
    }
}

/// The erasure of all records of one trackable, or of those before a time, in one transaction.
private struct PostgresErasing {
    private var report = EraseReport()
    private var trackable: RecordingLedger.Trackable
    private let connection: PostgresConnection

    init(of trackable: RecordingLedger.Trackable, _ connection: PostgresConnection) {
        self.trackable = trackable
        self.connection = connection
    }

    mutating func run(_ id: TrackableID, before: UnixTime?, now: UnixTime) throws(TrackingError) {
        let limit = before?.seconds ?? .infinity
        try self.mark(before: limit)
        self.report.points = try self.delete("point", "time", limit)
        self.report.events = try self.delete("event", "time", limit)
        self.report.trips = try self.delete("trip", "start", limit)
        self.report.states = try self.delete("state", "received", limit)
        // The times of unreadable messages are unknown, so all quarantined messages of the trackable are erased.
        self.report.quarantined =
            try self.connection.run("DELETE FROM quarantine WHERE trackable = $1", [.text(id.rawValue)]).changes
        try self.rebuildRuns(before: limit)
        let erasedBefore = min(before ?? now, now)
        self.trackable.erasedBefore = max(erasedBefore, self.trackable.erasedBefore ?? erasedBefore)
        self.trackable.last = try self.lastPosition()
        try PostgresWriting(self.connection).write([self.trackable])
    }

    private func delete(_ table: String, _ column: String, _ limit: Double) throws(TrackingError) -> Int {
        try self.connection.run(
            "DELETE FROM \(table) WHERE trackable = $1 AND \(column) < $2",
            [.int(self.trackable.number), .double(limit)]
        ).changes
    }

    /// Marks the numbers of the records that will be erased as erased, in the coverage of their streams (the state of
    /// each record number). Marks the numbers of quarantined records as erased too.
    private func mark(before limit: Double) throws(TrackingError) {
        let number = PostgresValue.int(self.trackable.number)
        let erased = limit == .infinity ? [:] : try self.seqs(before: limit)
        let rows = try self.connection.run("SELECT number, last FROM stream WHERE trackable = $1", [number])
        for stream in try PostgresLedger.streams(rows, first: 0, self.connection) {
            var coverage = stream.coverage
            if limit == .infinity {
                coverage.erase(.stored)
            } else {
                for seqs in erased[stream.number] ?? [] { coverage.declare(seqs, .erased) }
            }
            coverage.erase(.refused)
            try self.connection.run("DELETE FROM coverage WHERE stream = $1", [.int(stream.number)])
            try PostgresWriting(self.connection).write(coverage.ranges.map { (stream.number, $0) })
        }
    }

    /// Returns the numbers of a trackable's records with times before a limit, as ranges by stream. The server computes
    /// the ranges, because there may be millions of numbers.
    private func seqs(before limit: Double) throws(TrackingError) -> [Int64: [ClosedRange<UInt64>]] {
        let rows = try self.connection.run(
            """
            SELECT stream, min(seq), max(seq) FROM (SELECT stream, seq, \
            seq - row_number() OVER (PARTITION BY stream ORDER BY seq) AS place FROM (\
            SELECT stream, seq FROM point WHERE trackable = $1 AND time < $2 AND stream <> 0 UNION \
            SELECT stream, seq FROM event WHERE trackable = $1 AND time < $2 UNION \
            SELECT stream, seq FROM trip WHERE trackable = $1 AND start < $2) r) n GROUP BY stream, place
            """, [.int(self.trackable.number), .double(limit)])
        var seqs: [Int64: [ClosedRange<UInt64>]] = [:]
        for row in 0..<rows.count {
            let (first, last) = (rows.integer(row, 1), rows.integer(row, 2))
            seqs[rows.integer(row, 0), default: []].append(UInt64(clamping: first)...UInt64(clamping: last))
        }
        return seqs
    }

    /// Computes the runs of the remaining points again. A run is a group of consecutive points with a bounding box. The
    /// former boxes would reveal the places of erased points.
    private mutating func rebuildRuns(before limit: Double) throws(TrackingError) {
        let number = self.trackable.number
        let removed = try self.connection.run(
            "DELETE FROM run WHERE trackable = $1 AND first < $2 RETURNING last", [.int(number), .double(limit)])
        var end = (0..<removed.count).map { removed.number($0, 0) }.max() ?? -.infinity
        if let open = self.trackable.run, open.first.seconds < limit {
            end = max(end, open.last.seconds)
            self.trackable.run = nil
        }
        guard limit.isFinite, end >= limit else { return }
        let rows = try self.connection.run(
            "SELECT time, latitude, longitude FROM point WHERE trackable = $1 AND time BETWEEN $2 AND $3 ORDER BY time",
            [.int(number), .double(limit), .double(end)])
        let points = (0..<rows.count).compactMap { row in
            Coordinate(latitude: rows.number(row, 1), longitude: rows.number(row, 2))
                .map { (place: $0, time: UnixTime(rows.number(row, 0))) }
        }
        try PostgresWriting(self.connection).write(PointRun.runs(of: points).map { RunRow(number, $0) })
    }

    private func lastPosition() throws(TrackingError) -> PointName? {
        let rows = try self.connection.run(
            """
            SELECT time, stream, seq FROM point WHERE trackable = $1 AND clock_fault = 0 \
            ORDER BY time DESC, stream DESC, seq DESC LIMIT 1
            """, [.int(self.trackable.number)])
        guard rows.count > 0 else { return nil }
        return PointName(time: UnixTime(rows.number(0, 0)), stream: rows.integer(0, 1), seq: rows.integer(0, 2))
    }

    /// Rewrites the tables that contained erased records, after the transaction.
    ///
    /// - Returns: The report on the erasure, with the places where erased data remains.
    func rewrite() -> EraseReport {
        var report = self.report
        report.remains += PostgresRewriting(self.connection).run()
        do throws(TrackingError) {
            try self.connection.runAll("CHECKPOINT")
        } catch {
            report.elsewhere.append("files of the server until its next checkpoint")
        }
        report.elsewhere.append("the server's write-ahead log until it is recycled, its archive, replicas and backups")
        return report
    }
}
