/// A format in which a history is exported (`docs/reference/history.md`, "Export").
public enum HistoryFormat: String, Hashable, Sendable, CaseIterable {
    /// The export format for people: a text with one line for each point.
    case text
    /// The export format of GeoJSON Features, one on each line. A Feature has all members of Godwit's protocol.
    case json
    /// The export format of one GeoJSON FeatureCollection (RFC 7946). Its Features have all members of Godwit's
    /// protocol.
    case geojson
    /// The export format GPX 1.1: the points as one track.
    case gpx
    /// The export format KML 2.2: the points as a track, in Google's extension `gx:Track`.
    case kml
    /// The export format CSV (RFC 4180): a header line, then one record for each point.
    case csv
    /// The export format OGC Moving Features JSON 1.0: a `MovingPoint` for each piece of the track.
    case mfjson
    /// The export format of NextBillion.ai's `LocationData`: a JSON array with one object for each point. The times are
    /// whole seconds.
    case nextbillion
    /// The export format of the history files of Ably Asset Tracking's publishers, version 2.0.0: a JSON object with the
    /// points as Features in the list `events`.
    case ably
}
