import HTTPTypes
import Hummingbird
import TrackingHistory

extension HistoryFormat {
    /// The media type it is told apart by.
    var mediaType: String {
        switch self {
        case .text: "text/plain"
        case .json: "application/x-ndjson"
        case .geojson: "application/geo+json"
        case .gpx: "application/gpx+xml"
        case .kml: "application/vnd.google-earth.kml+xml"
        case .csv: "text/csv"
        case .mfjson: "application/json"
        }
    }

    /// What its files end in.
    var fileExtension: String {
        switch self {
        case .text: "txt"
        case .json: "jsonl"
        case .mfjson: "json"
        case .geojson, .gpx, .kml, .csv: self.rawValue
        }
    }

    /// The format that `?format=` names, else the first that `Accept` asks for, else GeoJSON.
    ///
    /// - Throws: A problem where `format` is none of them.
    static func wanted(_ query: APIQuery, _ request: Request) throws(Problem) -> HistoryFormat {
        if let name = query["format"] {
            guard let format = HistoryFormat(rawValue: name) else {
                throw Problem(
                    .badRequest, "format is \(HistoryFormat.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            return format
        }
        for part in request.headers[.accept]?.split(separator: ",") ?? [] {
            let type = part.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
            if let format = Self.allCases.first(where: { $0 != .mfjson && $0.mediaType == type }) { return format }
        }
        return .geojson
    }
}
