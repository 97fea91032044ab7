import GRDB
public import TrackingCore
import TrackingSQLite

/// The reading of points and last positions from SQLite.
extension SQLiteHistoryStore {
    /// Reads the next page of the points that a query selects. See ``HistoryStore/points(_:after:limit:)``.
    public func points(
        _ query: PointQuery, after: PointName?, limit: Int
    ) async throws(TrackingError) -> PointPage {
        try await self.read { db in
            guard let number = try Self.number(of: query.trackable, db) else { return .end }
            var reading = PointReading(query, of: number, limit: max(1, limit))
            try reading.run(after: after, db)
            return reading.page
        }
    }

    /// Returns the last position of each given trackable, or of all. See ``HistoryStore/lastPositions(of:)``.
    public func lastPositions(of trackables: [TrackableID]?) async throws(TrackingError) -> [LastPosition] {
        try await self.read { db in
            let row = try Self.lastPositions(trackables == nil ? "ORDER BY k.id" : "WHERE k.id = ?1", db)
            guard let trackables else { return try Self.readAll(row) }
            var positions: [LastPosition] = []
            for id in Set(trackables).sorted() {
                row.bind(id.rawValue, 1)
                positions += try Self.readAll(row)
            }
            return positions
        }
    }

    /// Returns the newest positions of the trackables after an id, in the order of their ids. See
    /// ``HistoryStore/lastPositions(after:limit:)``.
    public func lastPositions(after id: TrackableID?, limit: Int) async throws(TrackingError) -> [LastPosition] {
        try await self.read { db in
            let row = try Self.lastPositions("WHERE k.id > ?1 ORDER BY k.id LIMIT ?2", db)
            row.bind(id?.rawValue ?? "", 1)
            row.bind(Int64(limit), 2)
            return try Self.readAll(row)
        }
    }

    /// Returns the statement that selects the last positions of trackables `k`.
    ///
    /// - Parameter clauses: The condition and the order.
    private static func lastPositions(_ clauses: String, _ db: Database) throws -> DirectStatement {
        try DirectStatement(
            """
            SELECT \(PointReading.columns), k.id, s.id FROM trackable k JOIN point p ON p.trackable = k.number \
            AND \(SQLiteHistorySchema.isLastByName) LEFT JOIN stream s ON s.number = p.stream \(clauses)
            """, in: db)
    }

    private static func readAll(_ row: DirectStatement) throws -> [LastPosition] {
        defer { row.reset() }
        var positions: [LastPosition] = []
        while try row.step() {
            guard let trackable = try? TrackableID(row.text(PointReading.columnCount)),
                let location = PointReading.location(row, row.optionalText(PointReading.columnCount + 1))
            else { continue }
            positions.append(LastPosition(trackable: trackable, location: location))
        }
        return positions
    }

    /// Returns the trackables that have a stored point in a box during a time span. See
    /// ``HistoryStore/trackables(in:during:)``.
    public func trackables(
        in box: GeoBox, during times: TimeSpan
    ) async throws(TrackingError) -> [TrackableID] {
        try await self.read { db in
            var candidates: Set<Int64> = []
            for part in box.parts { candidates.formUnion(try Self.trackables(near: part, during: times, db)) }
            var found: [TrackableID] = []
            for number in candidates {
                guard let id = try Self.id(of: number, db) else { continue }
                var reading = PointReading(PointQuery(id, during: times, in: box), of: number, limit: 1)
                try reading.run(after: nil, db)
                if !reading.page.points.isEmpty { found.append(id) }
            }
            return found.sorted()
        }
    }

    /// Returns the keys of the trackables that may have a point in a box during a time span, according to their runs. A
    /// run is the bounding box and the time span of consecutive points. The given box must not cross the antimeridian.
    private static func trackables(near box: GeoBox, during times: TimeSpan, _ db: Database) throws -> Set<Int64> {
        let row = try DirectStatement(
            """
            SELECT DISTINCT r.trackable FROM run_box b JOIN run r ON r.number = b.number WHERE b.south <= ?1 AND b.north >= ?2 \
            AND b.west <= ?3 AND b.east >= ?4 AND r.first < ?6 AND r.last >= ?5 UNION \
            SELECT number FROM trackable WHERE run_south <= ?1 AND run_north >= ?2 AND run_west <= ?3 AND run_east >= ?4 \
            AND run_first < ?6 AND (run_last >= ?5 OR run_last = last_time)
            """, in: db)
        defer { row.reset() }
        for (place, value) in [box.north, box.south, box.east, box.west, times.bounds.from, times.bounds.to]
            .enumerated()
        {
            row.bind(value, Int32(place + 1))
        }
        var numbers: Set<Int64> = []
        while try row.step() { numbers.insert(row.integer(0)) }
        return numbers
    }

    static func number(of id: TrackableID, _ db: Database) throws -> Int64? {
        let row = try DirectStatement("SELECT number FROM trackable WHERE id = ?", in: db)
        defer { row.reset() }
        row.bind(id.rawValue, 1)
        return try row.step() ? row.integer(0) : nil
    }

    static func id(of number: Int64, _ db: Database) throws -> TrackableID? {
        let row = try DirectStatement("SELECT id FROM trackable WHERE number = ?", in: db)
        defer { row.reset() }
        row.bind(number, 1)
        return try row.step() ? try? TrackableID(row.text(0)) : nil
    }
}
