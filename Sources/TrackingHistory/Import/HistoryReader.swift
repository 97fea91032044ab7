public import TrackingCore

/// Reads the points of a file that Godwit or another program wrote (`docs/reference/history.md`, "Import"). Pass the
/// bytes in pieces of any size. Text is encoded in UTF-8, or in UTF-16 with a byte order mark.
///
/// An invalid point is reported with its line and the reason, and reading continues. The reader holds at most one
/// record of the file, which has at most 128 KB.
///
/// A publisher's record number (`seq`) and stream id in the file are ignored. Therefore only trackable, time and
/// position identify a point, and reading a file twice gives the same points.
public struct HistoryReader: Sendable {
    /// A file format whose points a history reader can read.
    public enum Format: String, Hashable, Sendable, CaseIterable {
        /// Input in GPX 1.0 or 1.1. The track points are read.
        case gpx
        /// Input in GeoJSON: a sequence of FeatureCollections and Features.
        case geojson
        /// Input in CSV with a header line that names the columns.
        case csv
        /// Input from the OwnTracks Recorder: a `.rec` file with one message on each line.
        case owntracks
        /// Input from the phone app Overland: batches, as a sequence of JSON objects `{"locations": […]}`.
        case overland
        /// Input in NextBillion.ai's `LocationData`: an array of objects, a sequence of them, or batches
        /// `{"locations": […]}`.
        case nextbillion
        /// Input in the history files of Ably Asset Tracking's publishers, version 1 or 2: objects with the points as
        /// Features in the list `events`.
        case ably

        /// Returns the format for a file name by its suffix: `gpx`; `json`, `geojson`, `jsonl`, `ndjson`, `geojsonl`
        /// and `geojsons` (GeoJSON, which includes Overland's batches); `csv`; `rec`. `nil` for any other suffix.
        public init?(fileName: String) {
            guard let dot = fileName.lastIndex(of: ".") else { return nil }
            switch fileName[fileName.index(after: dot)...].lowercased() {
            case "gpx": self = .gpx
            case "json", "geojson", "jsonl", "ndjson", "geojsonl", "geojsons": self = .geojson
            case "csv": self = .csv
            case "rec": self = .owntracks
            default: return nil
            }
        }
    }

    private var decoder: any RecordingDecoder
    private var text = UnicodeText()

    /// Makes a reader of the points in a file of the given format. The first bytes that are passed must be the
    /// beginning of the file.
    public init(_ format: Format) {
        self.decoder =
            switch format {
            case .gpx: GPXReader()
            case .geojson, .overland: FeatureReader()
            case .csv: CSVReader()
            case .owntracks: OwnTracksReader()
            case .nextbillion: FeatureReader(of: .locationData)
            case .ably: AblyReader()
            }
    }

    /// The error because of which the reader stopped, for example because the file does not have the expected format.
    /// `nil` while the reader has not stopped. The points before the error were returned.
    public var failure: TrackingError? { self.decoder.failure }

    /// Reads further bytes of the file. Returns an event for each point that they complete, and for each invalid one.
    public mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent] {
        self.decoder.append(self.text.append(bytes))
    }

    /// Ends the file and returns the remaining points and invalid points as events. Sets ``failure`` when the file has
    /// another format than the expected one.
    public mutating func finish() -> [SourceEvent] {
        self.decoder.append(self.text.finish()) + self.decoder.finish()
    }
}
