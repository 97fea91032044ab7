/// The formats that a history is written in (`docs/history.md`, "Export").
public enum HistoryFormat: String, Hashable, Sendable, CaseIterable {
    /// One line a point, for people.
    case text
    /// One GeoJSON Feature a line, with every member of the wire.
    case json
    /// A GeoJSON FeatureCollection (RFC 7946), with every member of the wire.
    case geojson
    /// GPX 1.1.
    case gpx
    /// KML 2.2 with Google's `gx:Track`.
    case kml
    /// CSV (RFC 4180) with a header.
    case csv
    /// OGC Moving Features JSON 1.0.
    case mfjson
}
