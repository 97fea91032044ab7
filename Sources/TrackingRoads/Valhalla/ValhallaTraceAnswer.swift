import TrackingCore

/// The members of an answer to `/trace_attributes`, read without a tree of JSON values: an enhancer reads one answer for
/// each position.
struct ValhallaTraceAnswer {
    /// The match of one fix.
    struct Point {
        /// The kinds of matches.
        enum Kind { case matched, interpolated, unmatched }

        var latitude: Double?
        var longitude: Double?
        /// The kind of the match; `nil` when the answer has none.
        var kind: Kind?
        /// The index of the edge in the answer.
        var edge: Int?
    }

    /// An edge of the road network.
    struct Edge {
        var edge = RoadMatch.Edge(id: 0)
        var begin: Int?
        var end: Int?

        /// Returns the segments of the shape that belong to the edge: the indices of their first points; `nil` when the
        /// answer has none.
        func segments(shapePoints: Int) -> Range<Int>? {
            guard let begin, let end, begin < end, end < shapePoints else { return nil }
            return begin..<end
        }
    }

    private(set) var shape: String?
    private(set) var edges: [Edge] = []
    private(set) var points: [Point] = []
    private var hasEdges = false

    /// Reads an answer; returns `nil` for one of another form.
    init?(_ bytes: [UInt8]) {
        var answer = ValhallaTraceAnswer()
        do throws(TrackingError) {
            try bytes.withUnsafeBufferPointer { bytes throws(TrackingError) in
                try JSONScanner.read(bytes, maximumBytes: ValhallaEngine.maximumAnswerBytes) {
                    json throws(Refusal) in try answer.read(&json)
                }
            }
        } catch {
            return nil
        }
        guard answer.hasEdges else { return nil }
        self = answer
    }

    private init() {}

    private mutating func read(_ json: inout JSONScanner) throws(Refusal) {
        try json.beginObject()
        while try json.nextMember() {
            if try json.skipNull() { continue }
            switch json.key {
            case "shape": self.shape = try json.text()
            case "edges":
                self.hasEdges = true
                try json.beginArray()
                while try json.nextElement() { self.edges.append(try Self.edge(&json)) }
            case "matched_points":
                try json.beginArray()
                while try json.nextElement() { self.points.append(try Self.point(&json)) }
            default: try json.skipValue()
            }
        }
    }

    private static func edge(_ json: inout JSONScanner) throws(Refusal) -> Edge {
        var edge = Edge()
        try json.beginObject()
        while try json.nextMember() {
            if try json.skipNull() { continue }
            switch json.key {
            case "id": edge.edge.id = UInt64(try Self.integer(&json) ?? 0)
            case "way_id": edge.edge.way = try Self.integer(&json).map { UInt64($0) }
            case "names": edge.edge.road = try Self.firstText(&json)
            case "speed_limit": edge.edge.speedLimit = try Self.speedLimit(&json)
            case "road_class": edge.edge.roadClass = try json.text()
            case "begin_shape_index": edge.begin = try Self.integer(&json)
            case "end_shape_index": edge.end = try Self.integer(&json)
            default: try json.skipValue()
            }
        }
        return edge
    }

    private static func firstText(_ json: inout JSONScanner) throws(Refusal) -> String? {
        var text: String?
        try json.beginArray()
        while try json.nextElement() {
            if text == nil { text = try json.text() } else { try json.skipValue() }
        }
        return text
    }

    /// Reads a speed limit in kilometres per hour, and returns it in metres per second. Valhalla writes a text for a road
    /// without a limit.
    private static func speedLimit(_ json: inout JSONScanner) throws(Refusal) -> Double? {
        guard json.isAtNumber() else {
            try json.skipValue()
            return nil
        }
        let limit = try json.number(.finite)
        return limit > 0 && limit < 250 ? limit / 3.6 : nil
    }

    private static func point(_ json: inout JSONScanner) throws(Refusal) -> Point {
        var point = Point()
        try json.beginObject()
        while try json.nextMember() {
            if try json.skipNull() { continue }
            switch json.key {
            case "lat": point.latitude = try json.number(.latitude)
            case "lon": point.longitude = try json.number(.longitude)
            case "edge_index": point.edge = try Self.integer(&json)
            case "type": point.kind = Self.kind(try json.token())
            default: try json.skipValue()
            }
        }
        return point
    }

    /// Reads a whole number from 0 on; returns `nil` for another number.
    private static func integer(_ json: inout JSONScanner) throws(Refusal) -> Int? {
        Int(exactly: try json.number(.finite)).flatMap { $0 >= 0 ? $0 : nil }
    }

    private static func kind(_ token: StringToken) -> Point.Kind {
        switch token {
        case "matched": .matched
        case "unmatched": .unmatched
        default: .interpolated
        }
    }
}
