import GRDB
import TrackingCore
import TrackingSQLite

/// Writes the changes that a stored batch of records causes to the tables of SQLite, inside a transaction.
extension RecordingChanges {
    /// Writes all changes of a batch of records to the tables of SQLite: points, events, trips, runs, streams,
    /// trackables, states and quarantined messages.
    ///
    /// - Returns: The number of new points. A point that the table contains already is not counted.
    func write(to db: Database) throws -> Int {
        let new = try self.writePoints(db)
        try self.writeDocuments(db)
        for run in self.runs { try run.write(to: db) }
        try self.writeStreams(db)
        for trackable in self.trackables.values { try trackable.write(to: db) }
        for state in self.states { try state.write(to: db) }
        try self.writeQuarantine(db)
        return new
    }

    private func writePoints(_ db: Database) throws -> Int {
        let statement = try DirectStatement(
            """
            INSERT OR IGNORE INTO point VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, in: db)
        var new = 0
        for point in self.points {
            point.bind(to: statement)
            try statement.run()
            if db.changesCount > 0 { new += 1 } else { try point.clearClockFault(db) }
        }
        return new
    }

    private func writeDocuments(_ db: Database) throws {
        for row in self.events {
            let event = row.document.value
            let statement = try DirectStatement("INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?, ?, ?, ?)", in: db)
            statement.bind(row.trackable, 1)
            statement.bind(event.time.seconds, 2)
            statement.bind(row.stream, 3)
            statement.bind(Int64(clamping: event.seq), 4)
            statement.bind(event.id, 5)
            statement.bind(event.kind.rawValue, 6)
            statement.bind(text: row.document.json, 7)
            try statement.run()
        }
        for row in self.trips where try !row.isOutdated(db) { try row.write(to: db) }
    }

    private func writeStreams(_ db: Database) throws {
        for (stream, change) in self.coverage {
            let (removed, written) = change.difference
            for first in removed {
                let statement = try DirectStatement("DELETE FROM coverage WHERE stream = ? AND first = ?", in: db)
                statement.bind(stream, 1)
                statement.bind(Int64(clamping: first), 2)
                try statement.run()
            }
            for range in written { try range.write(stream, db) }
            guard change.before.end != change.after.end, let end = change.after.end else { continue }
            try Self.update("UPDATE stream SET last = ? WHERE number = ?", Int64(clamping: end), stream, db)
        }
        for (stream, count) in self.duplicates {
            try Self.update("UPDATE stream SET duplicates = duplicates + ? WHERE number = ?", Int64(count), stream, db)
        }
        for (stream, count) in self.clockFaults {
            try Self.update(
                "UPDATE stream SET clock_faults = clock_faults + ? WHERE number = ?", Int64(count), stream, db)
        }
    }

    private static func update(_ sql: String, _ value: Int64, _ number: Int64, _ db: Database) throws {
        let statement = try DirectStatement(sql, in: db)
        statement.bind(value, 1)
        statement.bind(number, 2)
        try statement.run()
    }

    private func writeQuarantine(_ db: Database) throws {
        guard !self.refused.isEmpty else { return }
        for refused in QuarantineTrim.kept(self.refused) {
            let statement = try DirectStatement(
                """
                INSERT INTO quarantine (received, topic, trackable, stream, seq, reason, payload) VALUES (?, ?, ?, ?, ?, ?, ?)
                """, in: db)
            statement.bind(refused.receivedAt.seconds, 1)
            statement.bind(refused.topic, 2)
            statement.bind(refused.trackable?.rawValue, 3)
            statement.bind(refused.stream?.rawValue, 4)
            statement.bind(refused.seq.map { Int64(clamping: $0) }, 5)
            statement.bind(refused.reason, 6)
            try statement.run(binding: refused.payload, 7)
        }
        if self.refused.contains(where: \.isGap) { try db.execute(sql: QuarantineTrim.gapDeletion) }
        let count = try Int.fetchOne(db, sql: QuarantineTrim.count) ?? 0
        if let deletion = QuarantineTrim.deletion(of: count) { try db.execute(sql: deletion) }
    }
}

extension PointRow {
    /// Binds the point to the parameters of a statement, one parameter for each column of the table `point`.
    fileprivate func bind(to statement: DirectStatement) {
        let location = self.location
        statement.bind(self.trackable, 1)
        statement.bind(location.time.seconds, 2)
        statement.bind(self.stream, 3)
        statement.bind(self.seq, 4)
        statement.bind(self.faultCode, 5)
        statement.bind(location.coordinate.latitude, 6)
        statement.bind(location.coordinate.longitude, 7)
        statement.bind(location.altitude, 8)
        statement.bind(location.accuracyHorizontal, 9)
        statement.bind(location.accuracyVertical, 10)
        statement.bind(location.bearing, 11)
        statement.bind(location.accuracyBearing, 12)
        statement.bind(location.speed, 13)
        statement.bind(location.accuracySpeed, 14)
        statement.bind(location.floor.map { Int64($0) }, 15)
        statement.bind(location.batteryLevel, 16)
        statement.bind(location.mode?.code, 17)
        statement.bind(Motion.code(of: location.motion), 18)
        statement.bind(location.tripID, 19)
        statement.bind(location.source?.code, 20)
        statement.bind(text: location.extra, 21)
    }
}

extension PointRow {
    /// Removes the mark "wrong clock" from the stored copy of this point, if the clock of the newly received copy was
    /// right.
    ///
    /// A point without a stream may be received twice: first while its time is in the future, and again when it is not.
    /// The order of the two does not matter.
    fileprivate func clearClockFault(_ db: Database) throws {
        guard self.stream == 0, !self.isFaulty else { return }
        let statement = try DirectStatement(
            """
            UPDATE point SET clock_fault = 0 WHERE trackable = ? AND time = ? AND stream = 0 AND seq = ? AND clock_fault = 1
            """, in: db)
        statement.bind(self.trackable, 1)
        statement.bind(self.location.time.seconds, 2)
        statement.bind(self.seq, 3)
        try statement.run()
    }
}

extension DocumentRow<Trip> {
    /// Returns `true` if the table already contains this version of the trip or a newer one.
    fileprivate func isOutdated(_ db: Database) throws -> Bool {
        let row = try DirectStatement(
            """
            SELECT r.json, s.id FROM trip r JOIN stream s ON s.number = r.stream WHERE r.trackable = ? AND r.id = ?
            """, in: db)
        defer { row.reset() }
        row.bind(self.trackable, 1)
        row.bind(self.document.value.id, 2)
        guard try row.step(), let stream = StreamID(row.text(1)),
            let stored = Trip(stored: row.bytes(0), stream: stream)
        else { return false }
        return !self.document.value.supersedes(stored)
    }

    fileprivate func write(to db: Database) throws {
        let trip = self.document.value
        let statement = try DirectStatement(
            "INSERT OR REPLACE INTO trip VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", in: db)
        statement.bind(self.trackable, 1)
        statement.bind(trip.id, 2)
        statement.bind(trip.mode, 3)
        statement.bind(trip.state.rawValue, 4)
        statement.bind(trip.start.seconds, 5)
        statement.bind(trip.end?.seconds, 6)
        statement.bind(trip.distance, 7)
        statement.bind(trip.duration, 8)
        statement.bind(self.stream, 9)
        statement.bind(Int64(clamping: trip.seq), 10)
        statement.bind(text: self.document.json, 11)
        try statement.run()
    }
}

extension RunRow {
    /// Writes a run of points, unless the table contains the same run. A run is the bounding box and the time span of
    /// consecutive points.
    func write(to db: Database) throws {
        let statement = try DirectStatement(
            """
            INSERT INTO run SELECT NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE NOT EXISTS (SELECT 1 FROM run \
            WHERE trackable = ?1 AND first = ?2 AND last = ?3 AND south = ?4 AND west = ?5 AND north = ?6 AND east = ?7)
            """, in: db)
        statement.bind(self.trackable, 1)
        self.run.bind(to: statement, from: 2)
        try statement.run()
        guard db.changesCount > 0 else { return }
        let number = db.lastInsertedRowID
        let box = try DirectStatement("INSERT INTO run_box VALUES (?, ?, ?, ?, ?)", in: db)
        box.bind(number, 1)
        box.bind(self.run.south, 2)
        box.bind(self.run.north, 3)
        box.bind(self.run.west, 4)
        box.bind(self.run.east, 5)
        try box.run()
    }
}

extension PointRun {
    /// Binds a run, the bounding box and the time span of consecutive points, to seven parameters of a statement. The
    /// first parameter has the number `place`.
    fileprivate func bind(to statement: DirectStatement, from place: Int32) {
        statement.bind(self.first.seconds, place)
        statement.bind(self.last.seconds, place + 1)
        statement.bind(self.south, place + 2)
        statement.bind(self.west, place + 3)
        statement.bind(self.north, place + 4)
        statement.bind(self.east, place + 5)
        statement.bind(Int64(self.count), place + 6)
    }
}

extension RecordingLedger.Trackable {
    /// Updates the row of the trackable: its last position, its recent streams, and its open run. The open run is the
    /// bounding box of the latest consecutive points, which still grows.
    func write(to db: Database) throws {
        let statement = try DirectStatement(
            """
            UPDATE trackable SET erased_before = ?, recent = ?, last_time = ?, last_stream = ?, last_seq = ?, run_first = ?, \
            run_last = ?, run_south = ?, run_west = ?, run_north = ?, run_east = ?, run_count = ? WHERE number = ?
            """, in: db)
        statement.bind(self.erasedBefore?.seconds, 1)
        statement.bind(self.recentNumbers, 2)
        statement.bind(self.last?.time.seconds, 3)
        statement.bind(self.last?.stream, 4)
        statement.bind(self.last?.seq, 5)
        if let run = self.run?.widened {
            run.bind(to: statement, from: 6)
        } else {
            for place in Int32(6)...12 { statement.bindNull(place) }
        }
        statement.bind(self.number, 13)
        try statement.run()
    }
}

extension StreamCoverage.Range {
    /// Writes one range of a stream's record numbers, together with the range's state such as "stored", to the table
    /// `coverage`. A range that begins with the same number is replaced.
    func write(_ stream: Int64, _ db: Database) throws {
        let statement = try DirectStatement("INSERT OR REPLACE INTO coverage VALUES (?, ?, ?, ?)", in: db)
        statement.bind(stream, 1)
        statement.bind(Int64(clamping: self.seqs.lowerBound), 2)
        statement.bind(Int64(clamping: self.seqs.upperBound), 3)
        statement.bind(Int64(self.mark.rawValue), 4)
        try statement.run()
    }
}

extension StateRow {
    /// Writes a presence or a resolution that a recorder received, unless it equals the one written last for the same
    /// trackable and topic.
    fileprivate func write(to db: Database) throws {
        let last = try DirectStatement(
            "SELECT json FROM state WHERE trackable = ? AND name = ? ORDER BY received DESC LIMIT 1", in: db)
        defer { last.reset() }
        last.bind(self.trackable, 1)
        last.bind(self.change.name, 2)
        let stood = try last.step() ? last.optionalBytes(0) : nil
        guard stood != self.change.json else { return }
        let statement = try DirectStatement("INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?)", in: db)
        statement.bind(self.trackable, 1)
        statement.bind(self.change.name, 2)
        statement.bind(self.receivedAt.seconds, 3)
        statement.bind(text: self.change.json, 4)
        try statement.run()
    }
}
