public import TrackingCore

/// Writes the history of one trackable incrementally. Each call returns the next bytes of the output.
///
///     var writer = HistoryWriter(.gpx, of: van)
///     try output.write(writer.begin())
///     for point in points { try output.write(writer.append(point)) }
///     try output.write(writer.finish())
///
/// The writer holds at most ``TrackPiece/limit`` points, however long the history is. Pass the points in order of time.
/// Equal points give equal bytes. Numbers are written so that they parse to the same values; unknown and non-finite
/// values are omitted.
public struct HistoryWriter: Sendable {
    private var writer: any PointWriter
    private var lastStream: StreamID?

    /// Makes a writer of a format for the points of one trackable.
    public init(_ format: HistoryFormat, of trackable: TrackableID) {
        self.writer =
            switch format {
            case .text: TextWriter()
            case .json: JSONLinesWriter()
            case .geojson: GeoJSONWriter()
            case .gpx: GPXWriter(trackable)
            case .kml: KMLWriter(trackable)
            case .csv: CSVWriter(trackable)
            case .mfjson: MovingFeaturesWriter(trackable)
            }
    }

    /// Returns the bytes before the first point. Call it once.
    public mutating func begin() -> [UInt8] { Array(self.writer.begin().utf8) }

    /// Returns the bytes of the next point. When its stream differs from that of the previous point, the track is
    /// interrupted as by ``interrupt()``.
    public mutating func append(_ point: Location) -> [UInt8] {
        let isOther = point.stream != nil && self.lastStream != nil && point.stream != self.lastStream
        let interruption = isOther ? self.writer.interrupt() : ""
        self.lastStream = point.stream ?? self.lastStream
        return Array(interruption.utf8) + self.writer.append(point)
    }

    /// Interrupts the track because points are missing between the last point and the next one. Formats that draw a
    /// track leave a gap.
    public mutating func interrupt() -> [UInt8] { Array(self.writer.interrupt().utf8) }

    /// Returns the bytes after the last point. Call it once.
    public mutating func finish() -> [UInt8] { Array(self.writer.finish().utf8) }
}

/// A writer of one export format.
protocol PointWriter: Sendable {
    mutating func begin() -> String
    mutating func append(_ point: Location) -> [UInt8]
    mutating func interrupt() -> String
    mutating func finish() -> String
}

/// Default implementations for export formats that write nothing before the first point, between pieces of a track and
/// after the last point.
extension PointWriter {
    func begin() -> String { "" }
    func interrupt() -> String { "" }
    func finish() -> String { "" }
}
