public import TrackingCore

/// Reads the points of a file that another program, or this one, wrote (`docs/history.md`, "Import"): give it the bytes piece
/// by piece. Text is in UTF-8, or in UTF-16 with a byte order mark.
///
/// What is no point is refused and said, with where it stands and why, and the next one is read. Nothing that a file holds
/// makes the reader hold more than one record of it, which is at most 128 KB.
///
/// Points come without `seq` and stream: those named a record in the log that it came from, and the file is no such log. So a
/// point is told apart by trackable, time and place, and reading a file twice gives the same points.
public struct HistoryReader: Sendable {
    /// The formats that are read.
    public enum Format: String, Hashable, Sendable, CaseIterable {
        /// GPX 1.0 and 1.1: the track points.
        case gpx
        /// GeoJSON: a FeatureCollection, a Feature, or any number of either one after the other.
        case geojson
        /// CSV with a header.
        case csv
        /// What the OwnTracks Recorder stores: `.rec`.
        case owntracks
        /// What Overland sends: `{"locations": […]}`, one batch or several one after the other.
        case overland

        /// The format of a file by the end of its name: `gpx`; `json`, `geojson`, `jsonl`, `ndjson`, `geojsonl` and `geojsons`
        /// (GeoJSON, with which Overland's batches are read as well); `csv`; `rec`. `nil` for any other.
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

    /// Makes a reader at the beginning of a file.
    public init(_ format: Format) {
        self.decoder =
            switch format {
            case .gpx: GPXReader()
            case .geojson, .overland: FeatureReader()
            case .csv: CSVReader()
            case .owntracks: OwnTracksReader()
            }
    }

    /// Why the rest cannot be made sense of, once that is so: it is not of this format. What came before was given.
    public var failure: TrackingError? { self.decoder.failure }

    /// Takes in the next bytes, and gives what they complete: fixes, and what was refused.
    public mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent] {
        self.decoder.append(self.text.append(bytes))
    }

    /// The file ends here. Gives what was incomplete, or sets ``failure`` where the file was of another format.
    public mutating func finish() -> [SourceEvent] {
        self.decoder.append(self.text.finish()) + self.decoder.finish()
    }
}
