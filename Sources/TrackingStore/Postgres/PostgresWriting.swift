import TrackingCore

/// Writes the changes that a batch of records makes to the tables in PostgreSQL, inside a transaction.
struct PostgresWriting {
    private let connection: PostgresConnection
    private let how: Points

    /// The way in which points that have a stream and a number are written to the table `point`.
    enum Points {
        /// Points that have a stream and a number are inserted without comparing them with the rows of the table
        /// `point`, because the cache of what the tables contain shows that they are new.
        case copying
        /// Each point that has a stream and a number is compared with the rows of the table `point`, and only points
        /// that the table does not contain are inserted.
        case comparing
    }

    init(_ connection: PostgresConnection, _ how: Points = .copying) {
        self.connection = connection
        self.how = how
    }

    /// Writes all changes of a batch except its new points: events, trips, runs, streams, trackables, states and
    /// quarantined messages.
    func writeRows(_ changes: RecordingChanges) throws(TrackingError) {
        try self.write(changes.events)
        try self.write(changes.trips)
        try self.write(changes.runs)
        try self.writeStreams(changes)
        try self.write(Array(changes.trackables.values))
        for state in changes.states { try self.write(state) }
        try self.write(QuarantineTrim.kept(changes.refused))
    }

    /// Writes the points of a batch, and commits the transaction. Points that the table may already contain are copied
    /// into a temporary table first. From there, only new points are inserted.
    ///
    /// - Returns: The number of points that were new.
    func commit(_ points: [PointRow]) throws(TrackingError) -> Int {
        let isNew = { (row: PointRow) in row.stream != 0 && self.how == .copying }
        let doubtful = points.filter { !isNew($0) }
        guard points.isEmpty || !doubtful.isEmpty else {
            guard try self.copy(points, to: "point", then: "; COMMIT") == "COMMIT" else {
                throw TrackingError(
                    .storeFailed,
                    "cannot store records: PostgreSQL did not commit the transaction. The records are stored again later"
                )
            }
            return points.count
        }
        let new = points.filter(isNew)
        try self.copy(new, to: "point")
        let count = try new.count + self.compare(doubtful)
        try self.connection.runAll("COMMIT")
        return count
    }

    @discardableResult
    private func copy(
        _ points: [PointRow], to table: String, then next: String = ""
    ) throws(TrackingError) -> String {
        guard !points.isEmpty else { return "" }
        var bytes: [UInt8] = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00] + Array(repeating: 0, count: 8)
        bytes.reserveCapacity(points.count * 256)
        for point in points { point.append(to: &bytes) }
        bytes.append(integer: Int16(-1))
        return try self.connection.copy("COPY \(table) FROM STDIN (FORMAT binary)\(next)", bytes)
    }

    private func compare(_ points: [PointRow]) throws(TrackingError) -> Int {
        guard !points.isEmpty else { return 0 }
        try self.connection.runAll(
            "CREATE TEMP TABLE IF NOT EXISTS point_stage (LIKE point) ON COMMIT DELETE ROWS")
        try self.copy(points, to: "point_stage")
        let new = try self.connection.run("INSERT INTO point SELECT * FROM point_stage ON CONFLICT DO NOTHING").changes
        // A point may be received first while its time is in the future, and again later. Its clock fault is then
        // removed.
        if new < points.count, points.contains(where: { !$0.hasClockFault }) {
            try self.connection.run(
                """
                UPDATE point p SET clock_fault = 0 FROM point_stage s WHERE p.trackable = s.trackable AND p.time = s.time \
                AND p.stream = s.stream AND p.seq = s.seq AND p.stream = 0 AND p.clock_fault > s.clock_fault
                """)
        }
        return new
    }

    private func write(_ events: [DocumentRow<TrackingEvent>]) throws(TrackingError) {
        guard !events.isEmpty else { return }
        try self.connection.run(
            "INSERT INTO event SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
            [
                .ints(events.map(\.trackable)), .doubles(events.map(\.document.value.time.seconds)),
                .ints(events.map(\.stream)), .ints(events.map { Int64(clamping: $0.document.value.seq) }),
                .texts(events.map(\.document.value.id)), .texts(events.map(\.document.value.kind.rawValue)),
                .texts(events.map { String(decoding: $0.document.json, as: UTF8.self) }),
            ])
    }

    private func write(_ trips: [DocumentRow<Trip>]) throws(TrackingError) {
        for row in trips where try !self.isOutdated(row) {
            let trip = row.document.value
            try self.connection.run(
                """
                INSERT INTO trip VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (trackable, id) DO UPDATE SET \
                mode = excluded.mode, state = excluded.state, start = excluded.start, "end" = excluded."end", \
                distance = excluded.distance, duration = excluded.duration, stream = excluded.stream, seq = excluded.seq, \
                json = excluded.json
                """,
                [
                    .int(row.trackable), .text(trip.id), .text(trip.mode), .text(trip.state.rawValue),
                    .double(trip.start.seconds), .double(trip.end?.seconds), .double(trip.distance),
                    .double(trip.duration),
                    .int(row.stream), .int(Int64(clamping: trip.seq)),
                    .text(String(decoding: row.document.json, as: UTF8.self)),
                ])
        }
    }

    /// Returns `true` if the table contains the same version of the trip or a newer one.
    private func isOutdated(_ row: DocumentRow<Trip>) throws(TrackingError) -> Bool {
        let rows = try self.connection.run(
            "SELECT r.json, s.id FROM trip r JOIN stream s ON s.number = r.stream WHERE r.trackable = $1 AND r.id = $2",
            [.int(row.trackable), .text(row.document.value.id)])
        guard rows.count > 0, let stream = StreamID(rows.text(0, 1)),
            let stored = Trip(stored: rows.bytes(0, 0), stream: stream)
        else { return false }
        return !row.document.value.supersedes(stored)
    }

    /// Writes runs, except those that the table already contains. A run is a group of consecutive points with a
    /// bounding box. It can occur again if a file is imported twice.
    func write(_ runs: [RunRow]) throws(TrackingError) {
        guard !runs.isEmpty else { return }
        try self.connection.run(
            """
            INSERT INTO run (trackable, first, last, south, west, north, east, count) \
            SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) AS u (a, b, c, d, e, f, g, h) \
            WHERE NOT EXISTS (SELECT FROM run r WHERE r.trackable = a AND r.first = b AND r.last = c AND r.south = d \
            AND r.west = e AND r.north = f AND r.east = g)
            """,
            [
                .ints(runs.map(\.trackable)), .doubles(runs.map(\.run.first.seconds)),
                .doubles(runs.map(\.run.last.seconds)), .doubles(runs.map(\.run.south)), .doubles(runs.map(\.run.west)),
                .doubles(runs.map(\.run.north)), .doubles(runs.map(\.run.east)),
                .ints(runs.map { Int64($0.run.count) }),
            ])
    }

    private func writeStreams(_ changes: RecordingChanges) throws(TrackingError) {
        var removed: [(stream: Int64, first: UInt64)] = []
        var written: [(stream: Int64, range: StreamCoverage.Range)] = []
        var ends: [(stream: Int64, end: UInt64)] = []
        for (stream, change) in changes.coverage {
            let difference = change.difference
            removed += difference.removed.map { (stream, $0) }
            written += difference.written.map { (stream, $0) }
            if change.before.end != change.after.end, let end = change.after.end { ends.append((stream, end)) }
        }
        if !removed.isEmpty {
            try self.connection.run(
                """
                DELETE FROM coverage c USING unnest($1, $2) AS r (stream, first) WHERE c.stream = r.stream AND c.first = r.first
                """, [.ints(removed.map(\.stream)), .ints(removed.map { Int64(clamping: $0.first) })])
        }
        try self.write(written)
        try self.update("last = u.value", ends.map { ($0.stream, Int64(clamping: $0.end)) })
        try self.update("duplicates = s.duplicates + u.value", changes.duplicates.map { ($0.key, Int64($0.value)) })
        try self.update(
            "clock_faults = s.clock_faults + u.value", changes.clockFaults.map { ($0.key, Int64($0.value)) })
    }

    /// Writes ranges of record numbers, each with the state of its records, to the coverage of streams. A range
    /// replaces a stored range that begins with the same number.
    func write(_ ranges: [(stream: Int64, range: StreamCoverage.Range)]) throws(TrackingError) {
        guard !ranges.isEmpty else { return }
        try self.connection.run(
            """
            INSERT INTO coverage SELECT * FROM unnest($1, $2, $3, $4) ON CONFLICT (stream, first) \
            DO UPDATE SET last = excluded.last, mark = excluded.mark
            """,
            [
                .ints(ranges.map(\.stream)), .ints(ranges.map { Int64(clamping: $0.range.seqs.lowerBound) }),
                .ints(ranges.map { Int64(clamping: $0.range.seqs.upperBound) }),
                .ints(ranges.map { Int64($0.range.mark.rawValue) }),
            ])
    }

    private func update(_ assignment: String, _ values: [(stream: Int64, value: Int64)]) throws(TrackingError) {
        guard !values.isEmpty else { return }
        try self.connection.run(
            "UPDATE stream s SET \(assignment) FROM unnest($1, $2) AS u (number, value) WHERE s.number = u.number",
            [.ints(values.map(\.stream)), .ints(values.map(\.value))])
    }

    /// Writes the rows of trackables: the last position, the group of points (run) that is not full yet, the recent
    /// streams, and the time before which the records were erased.
    func write(_ trackables: [RecordingLedger.Trackable]) throws(TrackingError) {
        guard !trackables.isEmpty else { return }
        let runs = trackables.map(\.run?.widened)
        try self.connection.run(
            """
            UPDATE trackable t SET erased_before = u.a, recent = u.b, last_time = u.c, last_stream = u.d, last_seq = u.e, \
            run_first = u.f, run_last = u.g, run_south = u.h, run_west = u.i, run_north = u.j, run_east = u.k, run_count = u.l \
            FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
            AS u (number, a, b, c, d, e, f, g, h, i, j, k, l) WHERE t.number = u.number
            """,
            [
                .ints(trackables.map(\.number)), .doubles(trackables.map(\.erasedBefore?.seconds)),
                .texts(trackables.map(\.recentNumbers)), .doubles(trackables.map(\.last?.time.seconds)),
                .ints(trackables.map(\.last?.stream)), .ints(trackables.map(\.last?.seq)),
                .doubles(runs.map(\.?.first.seconds)), .doubles(runs.map(\.?.last.seconds)),
                .doubles(runs.map(\.?.south)), .doubles(runs.map(\.?.west)), .doubles(runs.map(\.?.north)),
                .doubles(runs.map(\.?.east)), .ints(runs.map { $0.map { Int64($0.count) } }),
            ])
    }

    /// Writes a state of a trackable, such as a presence or the resolution in force. Writes nothing if the state equals
    /// the stored one of the same name.
    private func write(_ state: StateRow) throws(TrackingError) {
        try self.connection.run(
            """
            INSERT INTO state SELECT $1, $2, $3, $4 WHERE $4 IS DISTINCT FROM \
            (SELECT json FROM state WHERE trackable = $1 AND name = $2 ORDER BY received DESC LIMIT 1) \
            ON CONFLICT (trackable, name, received) DO UPDATE SET json = excluded.json
            """,
            [
                .int(state.trackable), .text(state.change.name), .double(state.receivedAt.seconds),
                .text(state.change.json.map { String(decoding: $0, as: UTF8.self) }),
            ])
    }

    private func write(_ refused: [RefusedMessage]) throws(TrackingError) {
        guard !refused.isEmpty else { return }
        try self.connection.run(
            """
            INSERT INTO quarantine (received, topic, trackable, stream, seq, reason, payload) \
            SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7)
            """,
            [
                .doubles(refused.map(\.receivedAt.seconds)), .texts(refused.map(\.topic)),
                .texts(refused.map(\.trackable?.rawValue)), .texts(refused.map(\.stream?.rawValue)),
                .ints(refused.map { $0.seq.map { Int64(clamping: $0) } }), .texts(refused.map(\.reason)),
                .byteStrings(refused.map(\.payload)),
            ])
        if refused.contains(where: \.isGap) { try self.connection.runAll(QuarantineTrim.gapDeletion) }
        let count = Int(try self.connection.run(QuarantineTrim.count).integer(0, 0))
        if let deletion = QuarantineTrim.deletion(of: count) { try self.connection.runAll(deletion) }
    }
}

extension PointRow {
    /// Appends the point as a row of the table `point` in the binary form of `COPY`.
    fileprivate func append(to bytes: inout [UInt8]) {
        let location = self.location
        bytes.append(integer: Int16(21))
        bytes.appendField(self.trackable)
        bytes.appendField(location.time.seconds)
        bytes.appendField(self.stream)
        bytes.appendField(self.seq)
        bytes.appendField(self.faultCode)
        bytes.appendField(location.coordinate.latitude)
        bytes.appendField(location.coordinate.longitude)
        bytes.appendField(location.altitude)
        bytes.appendField(location.accuracyHorizontal)
        bytes.appendField(location.accuracyVertical)
        bytes.appendField(location.bearing)
        bytes.appendField(location.accuracyBearing)
        bytes.appendField(location.speed)
        bytes.appendField(location.accuracySpeed)
        bytes.appendField(location.floor.map { Int64($0) })
        bytes.appendField(location.batteryLevel)
        bytes.appendField(location.mode?.code)
        bytes.appendField(Motion.code(of: location.motion))
        bytes.appendField(location.tripID.map { Array($0.withoutNUL.utf8) })
        bytes.appendField(location.source?.code)
        bytes.appendField(location.extra)
    }
}
