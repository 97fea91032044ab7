import HTTPTypes
import Hummingbird
import TrackingHistory

extension HistoryFormat {
    /// The media type of an export of the history in this format.
    var mediaType: String {
        switch self {
        case .text: "text/plain"
        case .json: "application/x-ndjson"
        case .geojson: "application/geo+json"
        case .gpx: "application/gpx+xml"
        case .kml: "application/vnd.google-earth.kml+xml"
        case .csv: "text/csv"
        case .mfjson, .nextbillion, .ably: "application/json"
        }
    }

    /// The file name extension of an export of the history in this format.
    var fileExtension: String {
        switch self {
        case .text: "txt"
        case .json: "jsonl"
        case .mfjson, .nextbillion, .ably: "json"
        case .geojson, .gpx, .kml, .csv: self.rawValue
        }
    }

    /// Returns the format of the history that a request asks for: that of `?format=`, otherwise the most preferred one
    /// of the header `Accept` (RFC 9110, section 12.5.1; the first of equals), otherwise GeoJSON.
    ///
    /// - Throws: `Problem` (400) if `format` is unknown.
    static func wanted(_ query: APIQuery, _ request: Request) throws(Problem) -> HistoryFormat {
        if let name = query["format"] {
            guard let format = HistoryFormat(rawValue: name) else {
                throw Problem(
                    .badRequest,
                    "The parameter 'format' must be one of \(HistoryFormat.allCases.map(\.rawValue).joined(separator: ", "))."
                )
            }
            return format
        }
        var wanted: (format: HistoryFormat, quality: Double)?
        for part in request.headers[.accept]?.split(separator: ",") ?? [] {
            let words = part.lowercased().split(separator: ";").map { $0.filter { $0 != " " } }
            // Some formats have the media type of JSON, so only `?format=` selects them.
            let format = Self.allCases.first { $0.mediaType == words.first && $0.mediaType != "application/json" }
            guard let format else { continue }
            let quality = words.first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            if quality > wanted?.quality ?? 0 { wanted = (format, quality) }
        }
        return wanted?.format ?? .geojson
    }
}
