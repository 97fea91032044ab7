public import TrackingCore

/// Writes the history of one trackable, piece by piece: each call gives the bytes that come next.
///
///     var writer = HistoryWriter(.gpx, of: van)
///     try output.write(writer.begin())
///     for point in points { try output.write(writer.append(point)) }
///     try output.write(writer.finish())
///
/// It keeps a bounded number of points (at most ``TrackPiece/limit``), however long the history is. Give it the points in the
/// order of their times. The same points give the same bytes. Numbers are written so that reading them gives the same
/// ones back; what is unknown, or no number, is left out.
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

    /// What comes before the first point. Call it once.
    public mutating func begin() -> [UInt8] { Array(self.writer.begin().utf8) }

    /// Writes the next point. Where its stream is another than that of the point before, the track is interrupted, as by
    /// ``interrupt()``.
    public mutating func append(_ point: Location) -> [UInt8] {
        let isOther = point.stream != nil && self.lastStream != nil && point.stream != self.lastStream
        let interruption = isOther ? self.writer.interrupt() : ""
        self.lastStream = point.stream ?? self.lastStream
        return Array(interruption.utf8) + self.writer.append(point)
    }

    /// Says that points are missing between the last one and the next: formats that draw a track do not draw it there.
    public mutating func interrupt() -> [UInt8] { Array(self.writer.interrupt().utf8) }

    /// What comes after the last point. Call it once.
    public mutating func finish() -> [UInt8] { Array(self.writer.finish().utf8) }
}

/// Writes one format.
protocol PointWriter: Sendable {
    mutating func begin() -> String
    mutating func append(_ point: Location) -> [UInt8]
    mutating func interrupt() -> String
    mutating func finish() -> String
}

/// What formats of single points do.
extension PointWriter {
    func begin() -> String { "" }
    func interrupt() -> String { "" }
    func finish() -> String { "" }
}
