public import TrackingCore

/// The reading of trackables, trips, events, coverage and quarantined messages from PostgreSQL.
extension PostgresHistoryStore {
    /// Returns summaries of the trackables after an id, in the order of their ids. See
    /// ``HistoryStore/trackables(after:limit:)``.
    public func trackables(after id: TrackableID?, limit: Int) async throws(TrackingError) -> [TrackableSummary] {
        try await self.reader.perform { connection throws(TrackingError) in
            let rows = try connection.run(
                """
                SELECT k.id, (SELECT min(p.time) FROM point p WHERE p.trackable = k.number), \(PostgresHistorySchema.lastTime), \
                (SELECT count(*) FROM stream s WHERE s.trackable = k.number) FROM trackable k WHERE k.id > $1 \
                ORDER BY k.id LIMIT $2
                """, [.text(id?.rawValue ?? ""), .int(Int64(limit))])
            return (0..<rows.count).compactMap { row in
                guard let id = try? TrackableID(rows.text(row, 0)) else { return nil }
                return TrackableSummary(
                    id: id, first: rows.optionalNumber(row, 1).map { UnixTime($0) },
                    last: rows.optionalNumber(row, 2).map { UnixTime($0) }, streams: Int(rows.integer(row, 3)))
            }
        }
    }

    /// Returns the next trips of a trackable during a time span. See ``HistoryStore/trips(of:during:after:limit:)``.
    public func trips(
        of trackable: TrackableID, during times: TimeSpan, after last: Trip?, limit: Int
    ) async throws(TrackingError) -> [Trip] {
        try await self.documents(
            """
            SELECT r.json, s.id FROM trip r JOIN trackable k ON k.number = r.trackable JOIN stream s ON s.number = r.stream \
            WHERE k.id = $1 AND coalesce(r."end", r.start + r.duration + $5) >= $2 AND r.start < $3 \
            AND (r.start, r.id) > ($6, $7) ORDER BY r.start, r.id LIMIT $4
            """, of: trackable, during: times, limit: limit,
            more: [
                .double(TripStateMachine.longestSilence.inSeconds), .double(last?.start.seconds ?? -.infinity),
                .text(last?.id ?? ""),
            ]
        ) { Trip(stored: $0, stream: $1) }
    }

    /// Returns the next events of a trackable during a time span. See ``HistoryStore/events(of:during:after:limit:)``.
    public func events(
        of trackable: TrackableID, during times: TimeSpan, after last: TrackingEvent?, limit: Int
    ) async throws(TrackingError) -> [TrackingEvent] {
        try await self.documents(
            """
            SELECT e.json, s.id FROM event e JOIN trackable k ON k.number = e.trackable JOIN stream s ON s.number = e.stream \
            WHERE k.id = $1 AND e.time >= $2 AND e.time < $3 AND (e.time, s.id, e.seq) > ($5, $6, $7) \
            ORDER BY e.time, s.id, e.seq LIMIT $4
            """, of: trackable, during: TimeSpan(from: last?.time ?? times.from, to: times.to), limit: limit,
            more: [
                .double(last?.time.seconds ?? -.infinity), .text(last?.stream.rawValue ?? ""),
                .int(last.map { Int64(clamping: $0.seq) } ?? -1),
            ]
        ) { TrackingEvent(stored: $0, stream: $1) }
    }

    private func documents<Value: Sendable>(
        _ sql: String, of trackable: TrackableID, during times: TimeSpan, limit: Int, more: [PostgresValue],
        _ decode: @escaping @Sendable (_ json: [UInt8], _ stream: StreamID) -> Value?
    ) async throws(TrackingError) -> [Value] {
        try await self.reader.perform { connection throws(TrackingError) in
            let (from, to) = times.bounds
            let rows = try connection.run(
                sql,
                [.text(trackable.rawValue), .double(from), .double(to), .int(Int64(limit))] + more)
            return (0..<rows.count).compactMap { row in
                StreamID(rows.text(row, 1)).flatMap { decode(rows.bytes(row, 0), $0) }
            }
        }
    }

    /// Returns a report on the completeness of a trackable's streams. See ``HistoryStore/verify(_:)``.
    public func verify(_ trackable: TrackableID) async throws(TrackingError) -> VerifyReport? {
        try await self.reader.perform { connection throws(TrackingError) in
            guard let known = try PostgresLedger.load([trackable], connection).first?.trackable else { return nil }
            let counts = try connection.run(
                """
                SELECT count(*), count(*) FILTER (WHERE stream = 0), count(*) FILTER (WHERE stream = 0 AND clock_fault = 1) \
                FROM point WHERE trackable = $1
                """, [.int(known.number)])
            let gaps = try connection.run(
                "SELECT received FROM quarantine WHERE trackable IS NULL AND reason = $1 ORDER BY number DESC LIMIT $2",
                [.text(RefusedMessage.possibleGapReason), .int(Int64(StoreLimits.possibleGaps))])
            return VerifyReport(
                streams: try Self.streams(of: known, connection), points: Int(counts.integer(0, 0)),
                unnumbered: Int(counts.integer(0, 1)), unnumberedClockFaults: Int(counts.integer(0, 2)),
                erasedBefore: known.erasedBefore,
                possibleGaps: (0..<gaps.count).map { UnixTime(gaps.number($0, 0)) })
        }
    }

    /// Returns the known record numbers of each stream of a trackable, with their states: stored, erased, quarantined
    /// or gone. See ``HistoryStore/coverage(of:)``.
    public func coverage(of trackable: TrackableID) async throws(TrackingError) -> [StreamID: StreamCoverage] {
        try await self.reader.perform { connection throws(TrackingError) in
            guard let known = try PostgresLedger.load([trackable], connection).first?.trackable else { return [:] }
            let streams = try Self.streams(of: known, connection)
            return Dictionary(streams.map { ($0.id, $0.coverage) }) { first, _ in first }
        }
    }

    private static func streams(
        of trackable: RecordingLedger.Trackable, _ connection: PostgresConnection
    ) throws(TrackingError) -> [VerifyReport.StreamReport] {
        let rows = try connection.run(
            "SELECT id, duplicates, clock_faults, number, last FROM stream WHERE trackable = $1 ORDER BY id",
            [.int(trackable.number)])
        return try PostgresLedger.streams(rows, first: 3, connection).enumerated().compactMap { row, stream in
            guard let id = StreamID(rows.text(row, 0)) else { return nil }
            return VerifyReport.StreamReport(
                id: id, coverage: (trackable.streams[id] ?? stream).coverage, duplicates: Int(rows.integer(row, 1)),
                clockFaults: Int(rows.integer(row, 2)))
        }
    }

    /// Returns the quarantined messages, newest first. See ``HistoryStore/quarantined(limit:)``.
    public func quarantined(limit: Int) async throws(TrackingError) -> [RefusedMessage] {
        try await self.reader.perform { connection throws(TrackingError) in
            let rows = try connection.run(
                """
                SELECT received, topic, trackable, stream, seq, reason, payload FROM quarantine ORDER BY number DESC LIMIT $1
                """, [.int(Int64(limit))])
            return (0..<rows.count).map { row in
                RefusedMessage(
                    topic: rows.text(row, 1), receivedAt: UnixTime(rows.number(row, 0)),
                    trackable: rows.optionalText(row, 2).flatMap { try? TrackableID($0) },
                    stream: rows.optionalText(row, 3).flatMap { StreamID($0) },
                    seq: rows.optionalInteger(row, 4).map { UInt64(clamping: $0) }, reason: rows.text(row, 5),
                    payload: rows.bytes(row, 6))
            }
        }
    }
}
