import GRDB
public import TrackingCore
import TrackingSQLite

/// Reads trackables, trips, events, states of record numbers, and quarantined messages from SQLite.
extension SQLiteHistoryStore {
    /// Returns summaries of the trackables whose ids follow a given id, in order of id. See
    /// ``HistoryStore/trackables(after:limit:)``.
    public func trackables(after id: TrackableID?, limit: Int) async throws(TrackingError) -> [TrackableSummary] {
        try await self.read { db in
            let row = try DirectStatement(
                """
                SELECT k.id, (SELECT p.time FROM point p WHERE p.trackable = k.number ORDER BY p.time LIMIT 1), \(SQLiteHistorySchema.lastTime), \
                (SELECT count(*) FROM stream s WHERE s.trackable = k.number) FROM trackable k WHERE k.id > ? \
                ORDER BY k.id LIMIT ?
                """, in: db)
            defer { row.reset() }
            row.bind(id?.rawValue ?? "", 1)
            row.bind(Int64(limit), 2)
            var found: [TrackableSummary] = []
            while try row.step() {
                guard let id = try? TrackableID(row.text(0)) else { continue }
                found.append(
                    TrackableSummary(
                        id: id, first: row.optionalNumber(1).map { UnixTime($0) },
                        last: row.optionalNumber(2).map { UnixTime($0) }, streams: Int(row.integer(3))))
            }
            return found
        }
    }

    /// Returns the trips of a trackable during a time span that follow a given trip, in order. See
    /// ``HistoryStore/trips(of:during:after:limit:)``.
    public func trips(
        of trackable: TrackableID, during times: TimeSpan, after last: Trip?, limit: Int
    ) async throws(TrackingError) -> [Trip] {
        try await self.documents(
            """
            SELECT r.json, s.id FROM trip r JOIN trackable k ON k.number = r.trackable JOIN stream s ON s.number = r.stream \
            WHERE k.id = ?1 AND coalesce(r."end", r.start + r.duration + ?5) >= ?2 AND r.start < ?3 \
            AND (r.start, r.id) > (?6, ?7) ORDER BY r.start, r.id LIMIT ?4
            """, of: trackable, during: times, limit: limit
        ) { row in
            row.bind(TripStateMachine.longestSilence.inSeconds, 5)
            row.bind(last?.start.seconds ?? -.infinity, 6)
            row.bind(last?.id ?? "", 7)
        } decode: {
            Trip(stored: $0, stream: $1)
        }
    }

    /// Returns the events of a trackable during a time span that follow a given event, in order. See
    /// ``HistoryStore/events(of:during:after:limit:)``.
    public func events(
        of trackable: TrackableID, during times: TimeSpan, after last: TrackingEvent?, limit: Int
    ) async throws(TrackingError) -> [TrackingEvent] {
        try await self.documents(
            """
            SELECT e.json, s.id FROM event e JOIN trackable k ON k.number = e.trackable JOIN stream s ON s.number = e.stream \
            WHERE k.id = ?1 AND e.time >= ?2 AND e.time < ?3 AND (e.time, s.id, e.seq) > (?5, ?6, ?7) \
            ORDER BY e.time, s.id, e.seq LIMIT ?4
            """, of: trackable, during: TimeSpan(from: last?.time ?? times.from, to: times.to), limit: limit
        ) { row in
            row.bind(last?.time.seconds ?? -.infinity, 5)
            row.bind(last?.stream.rawValue ?? "", 6)
            row.bind(last.map { Int64(clamping: $0.seq) } ?? -1, 7)
        } decode: {
            TrackingEvent(stored: $0, stream: $1)
        }
    }

    private func documents<Value: Sendable>(
        _ sql: String, of trackable: TrackableID, during times: TimeSpan, limit: Int,
        binding more: @escaping @Sendable (DirectStatement) -> Void,
        decode: @escaping @Sendable (_ json: [UInt8], _ stream: StreamID) -> Value?
    ) async throws(TrackingError) -> [Value] {
        try await self.read { db in
            let row = try DirectStatement(sql, in: db)
            defer { row.reset() }
            row.bind(trackable.rawValue, 1)
            row.bind(times.bounds.from, 2)
            row.bind(times.bounds.to, 3)
            row.bind(Int64(limit), 4)
            more(row)
            var found: [Value] = []
            while try row.step() {
                if let stream = StreamID(row.text(1)), let value = decode(row.bytes(0), stream) { found.append(value) }
            }
            return found
        }
    }

    /// Returns the state of each record number (stored, erased, missing and so on) for the streams of a trackable. See
    /// ``HistoryStore/coverage(of:)``.
    public func coverage(of trackable: TrackableID) async throws(TrackingError) -> [StreamID: StreamCoverage] {
        try await self.read { db in
            guard let known = try SQLiteLedger.load(trackable, db) else { return [:] }
            let streams = try Self.streams(of: known, db)
            return Dictionary(streams.map { ($0.id, $0.coverage) }) { first, _ in first }
        }
    }

    private static func streams(
        of trackable: RecordingLedger.Trackable, _ db: Database
    ) throws -> [VerifyReport.StreamReport] {
        let row = try DirectStatement(
            "SELECT id, number, last, duplicates, clock_faults FROM stream WHERE trackable = ? ORDER BY id", in: db)
        defer { row.reset() }
        row.bind(trackable.number, 1)
        var streams: [VerifyReport.StreamReport] = []
        while try row.step() {
            guard let id = StreamID(row.text(0)) else { continue }
            let stream =
                try trackable.streams[id]
                ?? SQLiteLedger.stream(number: row.integer(1), end: row.optionalInteger(2), db)
            streams.append(
                VerifyReport.StreamReport(
                    id: id, coverage: stream.coverage, duplicates: Int(row.integer(3)),
                    clockFaults: Int(row.integer(4))))
        }
        return streams
    }

    /// Returns a report on stored and missing records of a trackable; `nil` for a trackable that is not in the history.
    /// See ``HistoryStore/verify(_:)``.
    public func verify(_ trackable: TrackableID) async throws(TrackingError) -> VerifyReport? {
        try await self.read { db in
            guard let known = try SQLiteLedger.load(trackable, db) else { return nil }
            let row = try DirectStatement(
                "SELECT count(*), coalesce(sum(stream = 0), 0), coalesce(sum(stream = 0 AND clock_fault = 1), 0) FROM point WHERE trackable = ?",
                in: db)
            defer { row.reset() }
            row.bind(known.number, 1)
            _ = try row.step()
            return VerifyReport(
                streams: try Self.streams(of: known, db), points: Int(row.integer(0)), unnumbered: Int(row.integer(1)),
                unnumberedClockFaults: Int(row.integer(2)), erasedBefore: known.erasedBefore,
                possibleGaps: try Double.fetchAll(
                    db,
                    sql:
                        "SELECT received FROM quarantine WHERE trackable IS NULL AND reason = ? ORDER BY number DESC LIMIT ?",
                    arguments: [RefusedMessage.possibleGapReason, StoreLimits.possibleGaps]
                ).map { UnixTime($0) })
        }
    }

    /// Returns the quarantined messages, those that the history could not accept, newest first. See
    /// ``HistoryStore/quarantined(limit:)``.
    public func quarantined(limit: Int) async throws(TrackingError) -> [RefusedMessage] {
        try await self.read { db in
            let row = try DirectStatement(
                """
                SELECT received, topic, trackable, stream, seq, reason, payload FROM quarantine ORDER BY number DESC LIMIT ?
                """, in: db)
            defer { row.reset() }
            row.bind(Int64(limit), 1)
            var found: [RefusedMessage] = []
            while try row.step() {
                found.append(
                    RefusedMessage(
                        topic: row.text(1), receivedAt: UnixTime(row.number(0)),
                        trackable: row.optionalText(2).flatMap { try? TrackableID($0) },
                        stream: row.optionalText(3).flatMap { StreamID($0) },
                        seq: row.optionalInteger(4).map { UInt64(clamping: $0) }, reason: row.text(5),
                        payload: row.bytes(6)))
            }
            return found
        }
    }
}
