import TrackingCore

/// Reads GeoJSON, Overland's batches, NextBillion.ai's `LocationData`, Ably's events and similar JSON: a sequence of objects, which
/// contain points in a list `features`, `locations` or `events`, or are points themselves.
struct FeatureReader: RecordingDecoder {
    /// The form of the points in the JSON that is read.
    enum Form: String {
        /// The points are GeoJSON Features, in an Overland batch with the properties of that app.
        case features = "GeoJSON"
        /// The points are objects in the form of NextBillion.ai's `LocationData`.
        case locationData = "LocationData"
        /// The points are GeoJSON Features in the list `events` of a history file of Ably Asset Tracking.
        case ably = "a history file of Ably Asset Tracking"

        /// The names of the lists that contain points.
        fileprivate var lists: Set<String> {
            switch self {
            case .features: ["features", "locations"]
            case .locationData: ["locations"]
            case .ably: ["events"]
            }
        }
    }

    private(set) var failure: TrackingError?
    private let form: Form
    private var cutter: JSONCutter
    private var hasRead = false

    init(of form: Form = .features) {
        self.form = form
        self.cutter = JSONCutter(lists: form.lists)
    }

    mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent] { self.events(of: self.cutter.append(bytes)) }

    mutating func finish() -> [SourceEvent] {
        let events = self.events(of: self.cutter.finish())
        if !self.hasRead, self.failure == nil {
            self.failure = TrackingError(
                .inputUnreadable, "the input is not \(self.form.rawValue): it contains no JSON object")
        }
        return events
    }

    private mutating func events(of pieces: [JSONCutter.Piece]) -> [SourceEvent] {
        pieces.compactMap { piece in
            switch piece {
            case .value(let bytes, let list, let line):
                self.hasRead = true
                return self.event(of: bytes, in: list, line)
            case .emptied:
                self.hasRead = true
                return nil
            case .tooLong(let line):
                return .badInput("line \(line): the point exceeds \(JSONCutter.limit) bytes")
            case .notJSON(let line): return .badInput("line \(line): the text is not a JSON object")
            case .brokenOff(let line):
                self.hasRead = true
                return .badInput("the file ends unexpectedly within line \(line)")
            }
        }
    }

    /// - Parameter list: The name of the list that contains the value; `nil` for an object without such a list.
    private func event(of bytes: [UInt8], in list: String?, _ line: Int) -> SourceEvent? {
        if self.form == .ably, list == nil { return .badInput("line \(line): the object has no list \"events\"") }
        if self.form != .locationData, let location = PointDraft.ownPoint(bytes[...]) { return .fix(location) }
        do throws(BadPoint) {
            switch self.form {
            case .features, .ably: return try Self.point(bytes, isOverland: list == "locations").map { .fix($0) }
            case .locationData: return .fix(try Self.locationData(bytes))
            }
        } catch {
            return .badInput("line \(line): \(error.reason)")
        }
    }

    private static func locationData(_ bytes: [UInt8]) throws(BadPoint) -> Location {
        guard let value = try? JSONValue(json: bytes) else {
            throw BadPoint("the value is not a JSON object, or its nesting is too deep")
        }
        return try NextBillionPoint.location(value, source: try? JSONSource(object: bytes[...]))
    }

    /// Returns the point of a Feature that other software wrote. Returns `nil` for the Features in a batch of the app
    /// Overland that are not points: trips, visits, pauses, and fixes without a position.
    ///
    /// - Parameter isOverland: `true` for a Feature in a batch of Overland. In other files, these Features are ordinary
    ///   points.
    private static func point(_ bytes: [UInt8], isOverland: Bool) throws(BadPoint) -> Location? {
        guard let feature = try? JSONValue(json: bytes), feature.object != nil else {
            throw BadPoint("the value is not a JSON object, or its nesting is too deep")
        }
        guard !LocationCodec.hasNullCoordinate(bytes[...]) else { throw BadPoint("a coordinate is null") }
        let source = (try? JSONSource(object: bytes[...]))?["properties"]
        guard isOverland, feature["type"]?.text == "Feature" else {
            return try PointDraft.point(feature: feature, source: source)
        }
        let properties = feature["properties"]?.object ?? [:]
        let isOther = properties["action"]?.text != nil || properties["type"]?.text == "trip"
        if isOther || OverlandPoint.saysNoPlace(properties) { return nil }
        // Other software uses the structure of Overland's batch, but other property names.
        guard properties["timestamp"] != nil else {
            return try PointDraft.point(feature: feature, source: source)
        }
        return try OverlandPoint.location(properties, feature["geometry"], source: source)
    }
}
