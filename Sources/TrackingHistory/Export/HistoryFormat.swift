/// A format in which a history is exported (`docs/reference/history.md`, "Export").
public enum HistoryFormat: String, Hashable, Sendable, CaseIterable {
    /// A text for people, with one line for each point.
    case text
    /// GeoJSON Features, one on each line, with all members of the protocol.
    case json
    /// A GeoJSON FeatureCollection (RFC 7946), with all members of the protocol.
    case geojson
    /// GPX 1.1: the points as one track.
    case gpx
    /// KML 2.2: the points as a track, in Google's `gx:Track`.
    case kml
    /// CSV (RFC 4180): a header line, then one record for each point.
    case csv
    /// OGC Moving Features JSON 1.0: a `MovingPoint` for each piece of the track.
    case mfjson
}
