import TrackingCore

/// Reads one page of the points of a trackable from PostgreSQL, as a query selects them.
struct PostgresPointReading {
    private let query: PointQuery
    private let trackable: Int64
    private let limit: Int
    private let connection: PostgresConnection
    private var draft = PageDraft()

    /// The columns of a point `p`, for ``location(_:_:)``. The name of the point's stream follows them.
    static let columns = """
        p.time, p.stream, p.seq, p.clock_fault, p.latitude, p.longitude, p.altitude, p.accuracy_horizontal, \
        p.accuracy_vertical, p.bearing, p.accuracy_bearing, p.speed, p.accuracy_speed, p.floor, p.battery_level, p.mode, \
        p.motion, p.trip, p.source, p.extra
        """
    static let columnCount = 21

    init(_ query: PointQuery, of trackable: Int64, limit: Int, _ connection: PostgresConnection) {
        self.query = query
        self.trackable = trackable
        self.limit = limit
        self.connection = connection
    }

    /// The page with all points that were read so far.
    var page: PointPage { self.draft.page }

    mutating func run(after: PointName?) throws(TrackingError) {
        guard self.query.box != nil else { return try self.read(self.query.times, after: after) }
        var from = max(self.query.times.bounds.from, after?.time.seconds ?? -.infinity)
        while self.draft.next == nil, let span = try self.span(from: from) {
            try self.read(span, after: after)
            guard let end = span.to?.seconds, end > from else { return }
            from = end
        }
    }

    /// Returns the next time span in which the trackable may have been in the query's box, by the bounding boxes of its
    /// points; `nil` if there is none.
    ///
    /// - Parameter from: The earliest time, in seconds of Unix time.
    private func span(from: Double) throws(TrackingError) -> TimeSpan? {
        guard let box = self.query.box, let first = box.parts.first, let last = box.parts.last else { return nil }
        let rows = try self.connection.run(
            """
            SELECT first, last FROM (SELECT first, last, south, west, north, east FROM run WHERE trackable = $1 \
            AND first >= $2 UNION ALL SELECT run_first, CASE WHEN run_last = last_time THEN 'infinity' ELSE run_last END, \
            run_south, run_west, run_north, run_east FROM trackable WHERE number = $1) r WHERE last >= $3 AND first < $4 AND south <= $5 AND north >= $6 \
            AND (west <= $7 AND east >= $8 OR west <= $9 AND east >= $10) ORDER BY first LIMIT \(RunSpan.runsTogether)
            """,
            [.int(self.trackable)]
                + [
                    from - RunSpan.longestRun, from, self.query.times.bounds.to, box.north, box.south, first.east,
                    first.west, last.east, last.west,
                ].map { .double($0) })
        var span = RunSpan(from: from)
        for row in 0..<rows.count where !span.add(first: rows.number(row, 0), last: rows.number(row, 1)) { break }
        return span.times(until: self.query.times.bounds.to)
    }

    /// Reads the points of a time span until the page is full. Then also reads the points with the same time as the
    /// last one.
    private mutating func read(_ times: TimeSpan, after: PointName?) throws(TrackingError) {
        for entry in try self.entries(times, after: after, limit: self.limit - self.draft.count + 1) {
            guard self.draft.count >= self.limit, let last = self.draft.last else {
                self.draft.append(entry)
                continue
            }
            self.draft.next = last
            guard last.time == entry.name.time else { continue }
            let tie = TimeSpan(from: last.time, to: UnixTime(last.time.seconds.nextUp))
            let tied = try self.entries(tie, after: last, limit: StoreLimits.pageExcess)
            for entry in tied { self.draft.append(entry) }
            self.draft.next = self.draft.last
        }
    }

    private func entries(
        _ times: TimeSpan, after: PointName?, limit: Int
    ) throws(TrackingError) -> [PageDraft.Entry] {
        var sql = """
            SELECT \(Self.columns), s.id FROM point p LEFT JOIN stream s ON s.number = p.stream WHERE p.trackable = $1 \
            AND p.time >= $2 AND p.time < $3 AND (p.time, p.stream, p.seq) > ($4, $5, $6)
            """
        var values: [PostgresValue] = [
            .int(self.trackable), .double(max(times.bounds.from, after?.time.seconds ?? times.bounds.from)),
            .double(times.bounds.to), .double(after?.time.seconds ?? -.infinity), .int(after?.stream ?? -1),
            .int(after?.seq ?? -1),
        ]
        if let trip = self.query.tripID {
            sql += " AND p.trip = $7"
            values.append(.text(trip))
        }
        if let box = self.query.box {
            let places = box.parts.map { "p.longitude BETWEEN \($0.west) AND \($0.east)" }.joined(separator: " OR ")
            sql += " AND p.latitude BETWEEN \(box.south) AND \(box.north) AND (\(places))"
        }
        let rows = try self.connection.run("\(sql) ORDER BY p.time, p.stream, p.seq LIMIT \(limit)", values)
        return (0..<rows.count).compactMap { row in
            guard let location = Self.location(rows, row) else { return nil }
            let name = PointName(time: location.time, stream: rows.integer(row, 1), seq: rows.integer(row, 2))
            return PageDraft.Entry(
                name: name, point: StoredPoint(location: location, hasClockFault: rows.integer(row, 3) != 0))
        }
    }

    /// Returns the point that a row of a query's result contains; `nil` if the point's coordinates are out of range.
    /// The row must begin with the columns in ``columns`` and the name of the stream.
    static func location(_ rows: PostgresRows, _ row: Int) -> Location? {
        guard let place = Coordinate(latitude: rows.number(row, 4), longitude: rows.number(row, 5)) else { return nil }
        var location = Location(coordinate: place, time: UnixTime(rows.number(row, 0)))
        if rows.integer(row, 1) != 0 {
            location.stream = StreamID(rows.text(row, 20))
            location.seq = UInt64(clamping: rows.integer(row, 2))
        }
        location.altitude = rows.optionalNumber(row, 6)
        location.accuracyHorizontal = rows.optionalNumber(row, 7)
        location.accuracyVertical = rows.optionalNumber(row, 8)
        location.bearing = rows.optionalNumber(row, 9)
        location.accuracyBearing = rows.optionalNumber(row, 10)
        location.speed = rows.optionalNumber(row, 11)
        location.accuracySpeed = rows.optionalNumber(row, 12)
        location.floor = rows.optionalInteger(row, 13).map { Int($0) }
        location.batteryLevel = rows.optionalNumber(row, 14)
        location.mode = rows.optionalInteger(row, 15).flatMap { TrackingMode(code: $0) }
        location.motion = Motion.all(in: rows.optionalInteger(row, 16) ?? 0)
        location.tripID = rows.optionalText(row, 17)
        location.source = rows.optionalInteger(row, 18).flatMap { SourceKind(code: $0) }
        location.extra = rows.optionalBytes(row, 19)
        return location
    }
}
