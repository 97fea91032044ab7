import TrackingCore

/// Reads GeoJSON, Overland's batches and what is like them: the elements of `features` or `locations` of one JSON object after
/// the other, or the objects themselves.
struct FeatureReader: RecordingDecoder {
    private(set) var failure: TrackingError?
    private var cutter = JSONCutter(lists: ["features", "locations"])
    private var hasRead = false

    mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent] { self.events(of: self.cutter.append(bytes)) }

    mutating func finish() -> [SourceEvent] {
        let events = self.events(of: self.cutter.finish())
        if !self.hasRead, self.failure == nil {
            self.failure = TrackingError(.inputUnreadable, "is not GeoJSON: it holds no JSON object")
        }
        return events
    }

    private mutating func events(of pieces: [JSONCutter.Piece]) -> [SourceEvent] {
        pieces.compactMap { piece in
            switch piece {
            case .value(let bytes, let list, let line):
                self.hasRead = true
                return self.event(of: bytes, isOverland: list == "locations", line)
            case .emptied:
                self.hasRead = true
                return nil
            case .tooLong(let line):
                return .badInput("line \(line): more than \(JSONCutter.limit) bytes for one point")
            case .notJSON(let line): return .badInput("line \(line): not JSON")
            case .brokenOff(let line):
                self.hasRead = true
                return .badInput("the file breaks off within line \(line)")
            }
        }
    }

    private func event(of bytes: [UInt8], isOverland: Bool, _ line: Int) -> SourceEvent? {
        if let location = PointDraft.ownPoint(bytes[...]) { return .fix(location) }
        do throws(BadPoint) {
            return try Self.point(bytes, isOverland: isOverland).map { .fix($0) }
        } catch {
            return .badInput("line \(line): \(error.reason)")
        }
    }

    /// Somebody else's Feature; `nil` where it is something else that Overland sends between points: a trip, a visit, a pause, a
    /// moment without a place. Elsewhere the same names are properties of a point like any other.
    private static func point(_ bytes: [UInt8], isOverland: Bool) throws(BadPoint) -> Location? {
        guard let feature = try? JSONValue(json: bytes), feature.object != nil else {
            throw BadPoint("not a JSON object, or nested too deep")
        }
        guard !LocationCodec.hasNullCoordinate(bytes[...]) else { throw BadPoint("one of its coordinates is null") }
        let source = (try? JSONSource(object: bytes[...]))?["properties"]
        guard isOverland, feature["type"]?.text == "Feature" else {
            return try PointDraft.point(feature: feature, source: source)
        }
        let properties = feature["properties"]?.object ?? [:]
        let isOther = properties["action"]?.text != nil || properties["type"]?.text == "trip"
        if isOther || OverlandPoint.saysNoPlace(properties) { return nil }
        // Others have taken over the form of the batch, and not the names.
        guard properties["timestamp"] != nil else {
            return try PointDraft.point(feature: feature, source: source)
        }
        return try OverlandPoint.location(properties, feature["geometry"], source: source)
    }
}
