/// A format in which a history is exported (`docs/reference/history.md`, "Export").
public enum HistoryFormat: String, Hashable, Sendable, CaseIterable {
    /// One line for each point, for people.
    case text
    /// One GeoJSON Feature on each line, with all members of the protocol.
    case json
    /// A GeoJSON FeatureCollection (RFC 7946), with all members of the protocol.
    case geojson
    /// GPX 1.1: the points as a track.
    case gpx
    /// KML 2.2 with Google's `gx:Track`.
    case kml
    /// CSV (RFC 4180) with a header.
    case csv
    /// OGC Moving Features JSON 1.0.
    case mfjson
}
