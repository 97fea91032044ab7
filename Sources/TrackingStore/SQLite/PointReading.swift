import GRDB
import TrackingCore
import TrackingSQLite

/// Reads one page of the points of a trackable from SQLite, as a query selects them.
struct PointReading {
    private let query: PointQuery
    private let trackable: Int64
    private let limit: Int
    private var draft = PageDraft()
    private var streams: [Int64: StreamID] = [:]

    static let columns = """
        p.time, p.stream, p.seq, p.clock_fault, p.latitude, p.longitude, p.altitude, p.accuracy_horizontal, \
        p.accuracy_vertical, p.bearing, p.accuracy_bearing, p.speed, p.accuracy_speed, p.floor, p.battery_level, p.mode, \
        p.motion, p.trip, p.source, p.extra
        """
    static let columnCount: Int32 = 20

    init(_ query: PointQuery, of trackable: Int64, limit: Int) {
        self.query = query
        self.trackable = trackable
        self.limit = limit
    }

    /// The page with the points that were read so far.
    var page: PointPage { self.draft.page }

    mutating func run(after: PointName?, _ db: Database) throws {
        guard self.query.box != nil else { return try self.read(self.query.times, after: after, db) }
        var from = max(self.query.times.bounds.from, after?.time.seconds ?? -.infinity)
        while self.draft.next == nil, let span = try self.span(from: from, db) {
            try self.read(span, after: after, db)
            guard let end = span.to?.seconds, end > from else { return }
            from = end
        }
    }

    /// Returns the next time span, not before `from`, in which the trackable may have points in the query's box; `nil`
    /// if there is none.
    ///
    /// The search uses runs. A run is the bounding box and the time span of consecutive points. Overlapping runs count
    /// as one time span.
    private func span(from: Double, _ db: Database) throws -> TimeSpan? {
        guard let box = self.query.box else { return nil }
        let row = try DirectStatement(
            """
            SELECT first, last, south, west, north, east FROM run WHERE trackable = ?1 AND first >= ?2 AND last >= ?3 \
            AND first < ?4 UNION ALL SELECT run_first, iif(run_last = last_time, 9e999, run_last), run_south, run_west, \
            run_north, run_east FROM trackable WHERE number = ?1 AND (run_last >= ?3 OR run_last = last_time) \
            AND run_first < ?4 ORDER BY first
            """, in: db)
        defer { row.reset() }
        row.bind(self.trackable, 1)
        row.bind(from - RunSpan.longestRun, 2)
        row.bind(from, 3)
        row.bind(self.query.times.bounds.to, 4)
        var span = RunSpan(from: from)
        while try row.step() {
            guard box.meets(south: row.number(2), west: row.number(3), north: row.number(4), east: row.number(5)) else {
                continue
            }
            guard span.add(first: row.number(0), last: row.number(1)) else { break }
        }
        return span.times(until: self.query.times.bounds.to)
    }

    private mutating func read(_ times: TimeSpan, after: PointName?, _ db: Database) throws {
        let row = try DirectStatement(
            """
            SELECT \(Self.columns) FROM point p WHERE p.trackable = ?1 AND p.time >= ?2 AND p.time < ?3 \
            AND (p.time, p.stream, p.seq) > (?4, ?5, ?6)\(self.query.tripID == nil ? "" : " AND p.trip = ?7") \
            ORDER BY p.time, p.stream, p.seq
            """, in: db)
        defer { row.reset() }
        let bounds = times.bounds
        row.bind(self.trackable, 1)
        row.bind(max(bounds.from, after?.time.seconds ?? bounds.from), 2)
        row.bind(bounds.to, 3)
        row.bind(after?.time.seconds ?? -.infinity, 4)
        row.bind(after?.stream ?? -1, 5)
        row.bind(after?.seq ?? -1, 6)
        if let trip = self.query.tripID { row.bind(trip, 7) }
        while try row.step() { if try !self.take(row, db) { return } }
    }

    /// Adds the point of a row to the page, if the point is in the query's box. Returns `false` without adding the
    /// point when the page is full.
    private mutating func take(_ row: DirectStatement, _ db: Database) throws -> Bool {
        let name = PointName(time: UnixTime(row.number(0)), stream: row.integer(1), seq: row.integer(2))
        if self.draft.count >= self.limit, let last = self.draft.last {
            // Points of one time are on one page, so that their order does not depend on what came first.
            if last.time != name.time || self.draft.count >= self.limit + StoreLimits.pageExcess {
                self.draft.next = last
                return false
            }
        }
        guard let location = Self.location(row, try self.stream(name.stream, db)?.rawValue) else { return true }
        if let box = self.query.box, !box.contains(location.coordinate) { return true }
        let point = StoredPoint(location: location, hasClockFault: row.integer(3) != 0)
        self.draft.append(PageDraft.Entry(name: name, point: point))
        return true
    }

    private mutating func stream(_ number: Int64, _ db: Database) throws -> StreamID? {
        guard number != 0 else { return nil }
        if let known = self.streams[number] { return known }
        let row = try DirectStatement("SELECT id FROM stream WHERE number = ?", in: db)
        defer { row.reset() }
        row.bind(number, 1)
        guard try row.step(), let id = StreamID(row.text(0)) else { return nil }
        self.streams[number] = id
        return id
    }

    /// Returns the point in a row of a query's result; `nil` if the point's coordinates are out of range. The row must
    /// begin with the columns that ``columns`` lists.
    static func location(_ row: DirectStatement, _ stream: String?) -> Location? {
        guard let place = Coordinate(latitude: row.number(4), longitude: row.number(5)) else { return nil }
        var location = Location(coordinate: place, time: UnixTime(row.number(0)))
        if row.integer(1) != 0 {
            location.stream = stream.flatMap { StreamID($0) }
            location.seq = UInt64(clamping: row.integer(2))
        }
        location.altitude = row.optionalNumber(6)
        location.accuracyHorizontal = row.optionalNumber(7)
        location.accuracyVertical = row.optionalNumber(8)
        location.bearing = row.optionalNumber(9)
        location.accuracyBearing = row.optionalNumber(10)
        location.speed = row.optionalNumber(11)
        location.accuracySpeed = row.optionalNumber(12)
        location.floor = row.optionalInteger(13).map { Int($0) }
        location.batteryLevel = row.optionalNumber(14)
        location.mode = row.optionalInteger(15).flatMap { TrackingMode(code: $0) }
        location.motion = Motion.all(in: row.integer(16))
        location.tripID = row.optionalText(17)
        location.source = row.optionalInteger(18).flatMap { SourceKind(code: $0) }
        location.extra = row.optionalBytes(19)
        return location
    }
}

extension GeoBox {
    /// Returns `true` if this geographic box overlaps the box between the given latitudes and longitudes. This box may
    /// cross the antimeridian; the given one must not.
    func meets(south: Double, west: Double, north: Double, east: Double) -> Bool {
        self.parts.contains { $0.south <= north && $0.north >= south && $0.west <= east && $0.east >= west }
    }
}
