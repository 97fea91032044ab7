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
        /// GPX 1.0 and 1.1: the track points.
        case gpx
        /// GeoJSON: a sequence of FeatureCollections and Features.
        case geojson
        /// CSV with a header line that names the columns.
        case csv
        /// A `.rec` file of the OwnTracks Recorder, with one message on each line.
        case owntracks
        /// Batches of the phone app Overland: a sequence of JSON objects `{"locations": […]}`.
        case overland

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

    /// Makes a reader for a file in the given format. The reader expects the file from its beginning.
    public init(_ format: Format) {
        self.decoder =
            switch format {
            case .gpx: GPXReader()
            case .geojson, .overland: FeatureReader()
            case .csv: CSVReader()
            case .owntracks: OwnTracksReader()
            }
    }

    /// The error because of which reading stopped, for example because the file does not have the expected format.
    /// `nil` while there is none. Points before the error were returned.
    public var failure: TrackingError? { self.decoder.failure }

    /// Reads further bytes of the file. Returns an event for each point that they complete, and for each invalid one.
    public mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent] {
        self.decoder.append(self.text.append(bytes))
    }

    /// Ends the file and returns the remaining events. Sets ``failure`` when the file has another format.
    public mutating func finish() -> [SourceEvent] {
        self.decoder.append(self.text.finish()) + self.decoder.finish()
    }
}
