public import TrackingCore

/// The reading of points and last positions from PostgreSQL.
extension PostgresHistoryStore {
    /// Reads the next page of the points that a query selects. See ``HistoryStore/points(_:after:limit:)``.
    public func points(
        _ query: PointQuery, after: PointName?, limit: Int
    ) async throws(TrackingError) -> PointPage {
        try await self.reader.perform { connection throws(TrackingError) in
            guard let number = try Self.number(of: query.trackable, connection) else { return .end }
            var reading = PostgresPointReading(query, of: number, limit: max(1, limit), connection)
            try reading.run(after: after)
            return reading.page
        }
    }

    /// Returns the newest position of each given trackable, or of all trackables. See
    /// ``HistoryStore/lastPositions(of:)``.
    public func lastPositions(of trackables: [TrackableID]?) async throws(TrackingError) -> [LastPosition] {
        guard let trackables else { return try await self.allLastPositions() }
        return try await self.reader.perform { connection throws(TrackingError) in
            let ids = PostgresValue.texts(trackables.map(\.rawValue))
            let sql = Self.lastPositions("WHERE k.id = ANY ($1)")
            return Self.lastPositions(try connection.run(sql, [ids]))
        }
    }

    /// Returns the newest position of each trackable, in the order of their ids. Reads them in pages: the server
    /// computes the next page while this program decodes one.
    private func allLastPositions() async throws(TrackingError) -> [LastPosition] {
        try await self.reader.perform { connection throws(TrackingError) in
            let limit = 10_000
            let sql = Self.lastPositions("WHERE k.id > $1", limit: "\(limit)")
            var positions: [LastPosition] = []
            var next: String? = ""
            try connection.send(sql, [.text("")])
            while next != nil {
                let rows = try connection.sentRows()
                next = rows.count < limit ? nil : rows.text(rows.count - 1, PostgresPointReading.columnCount)
                if let next { try connection.send(sql, [.text(next)]) }
                positions += Self.lastPositions(rows)
            }
            return positions
        }
    }

    /// Returns the newest positions of the trackables after an id, in the order of their ids. See
    /// ``HistoryStore/lastPositions(after:limit:)``.
    public func lastPositions(after id: TrackableID?, limit: Int) async throws(TrackingError) -> [LastPosition] {
        try await self.reader.perform { connection throws(TrackingError) in
            let sql = Self.lastPositions("WHERE k.id > $1", limit: "$2")
            let rows = try connection.run(sql, [.text(id?.rawValue ?? ""), .int(Int64(limit))])
            return Array(Self.lastPositions(rows).prefix(limit))
        }
    }

    /// Returns the SQL that selects the newest points of trackables `k`, in the order of their ids. All newest points
    /// of one trackable follow each other in one result.
    ///
    /// The names of the streams are looked up in subqueries of their own, which takes less time than a join.
    private static func lastPositions(_ condition: String, limit: String? = nil) -> String {
        """
        SELECT \(PostgresPointReading.columns), (SELECT o.id FROM stream o WHERE o.number = p.stream), k.id \
        FROM trackable k CROSS JOIN LATERAL (\(PostgresHistorySchema.newest)) p \(condition) ORDER BY k.id \
        \(limit.map { "FETCH FIRST (\($0)) ROWS WITH TIES" } ?? "")
        """
    }

    /// Returns the newest positions that the result of ``lastPositions(_:limit:)`` contains. Of several points of a
    /// trackable, the one with the last stream name in the alphabet counts, then the one with the highest number.
    private static func lastPositions(_ rows: PostgresRows) -> [LastPosition] {
        var positions: [LastPosition] = []
        var last: (stream: [UInt8], seq: Int64) = ([], 0)
        for row in 0..<rows.count {
            guard let location = PostgresPointReading.location(rows, row),
                let id = try? TrackableID(rows.text(row, PostgresPointReading.columnCount))
            else { continue }
            let name = (
                stream: rows.optionalBytes(row, PostgresPointReading.columnCount - 1) ?? [], seq: rows.integer(row, 2)
            )
            if positions.last?.trackable == id {
                let isHigher =
                    name.stream == last.stream
                    ? name.seq > last.seq : last.stream.lexicographicallyPrecedes(name.stream)
                guard isHigher else { continue }
                positions.removeLast()
            }
            positions.append(LastPosition(trackable: id, location: location))
            last = name
        }
        return positions
    }

    /// Returns the trackables that have a point in a box during a time span. See
    /// ``HistoryStore/trackables(in:during:)``.
    public func trackables(
        in box: GeoBox, during times: TimeSpan
    ) async throws(TrackingError) -> [TrackableID] {
        try await self.reader.perform { connection throws(TrackingError) in
            var candidates: [TrackableID: Int64] = [:]
            for part in box.parts {
                for (id, number) in try Self.trackables(near: part, during: times, connection) {
                    candidates[id] = number
                }
            }
            var found: [TrackableID] = []
            for (id, number) in candidates {
                var reading = PostgresPointReading(
                    PointQuery(id, during: times, in: box), of: number, limit: 1, connection)
                try reading.run(after: nil)
                if !reading.page.points.isEmpty { found.append(id) }
            }
            return found.sorted()
        }
    }

    /// Returns the trackables that may have been in a box at a time in `times`, by the bounding boxes of their points.
    /// Their single points must still be checked. The box must not cross the antimeridian.
    private static func trackables(
        near box: GeoBox, during times: TimeSpan, _ connection: PostgresConnection
    ) throws(TrackingError) -> [(TrackableID, Int64)] {
        let rows = try connection.run(
            """
            SELECT id, number FROM trackable WHERE number IN (SELECT trackable FROM run \
            WHERE box && ST_MakeEnvelope($1, $2, $3, $4, 4326) AND first < $6 AND last >= $5) \
            OR run_west <= $3 AND run_east >= $1 AND run_south <= $4 AND run_north >= $2 AND run_first < $6 \
            AND (run_last >= $5 OR run_last = last_time)
            """, [box.west, box.south, box.east, box.north, times.bounds.from, times.bounds.to].map { .double($0) })
        return (0..<rows.count).compactMap { row in
            (try? TrackableID(rows.text(row, 0))).map { ($0, rows.integer(row, 1)) }
        }
    }

    static func number(of id: TrackableID, _ connection: PostgresConnection) throws(TrackingError) -> Int64? {
        let rows = try connection.run("SELECT number FROM trackable WHERE id = $1", [.text(id.rawValue)])
        return rows.count > 0 ? rows.integer(0, 0) : nil
    }
}
