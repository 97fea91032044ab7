public import TrackingCore

/// Writes the history of one trackable incrementally. Each call returns the next bytes of the output.
///
///     var writer = HistoryWriter(.gpx, of: van)
///     try output.write(writer.begin())
///     for point in points { try output.write(writer.append(point)) }
///     try output.write(writer.finish())
///
/// Pass the points in order of time. The writer holds at most ``TrackPiece/limit`` points in memory, however long the
/// history is. The same points always give the same bytes. Numbers are written so that reading them gives the same
/// values. An unknown or non-finite value is omitted; in CSV its field is empty, and in KML the altitude is 0.
public struct HistoryWriter: Sendable {
    private var writer: any PointWriter
    private var lastStream: StreamID?

    /// Makes a writer that writes the points of one trackable in the given format.
    ///
    /// - Parameter isMatched: `true` for points that were matched with roads (``append(_:)-(MatchedPoint)``). The
    ///   formats that have a place for them then contain the roads as well.
    public init(_ format: HistoryFormat, of trackable: TrackableID, isMatched: Bool = false) {
        self.writer =
            switch format {
            case .text: TextWriter()
            case .json: JSONLinesWriter()
            case .geojson: GeoJSONWriter(isMatched: isMatched)
            case .gpx: GPXWriter(trackable)
            case .kml: KMLWriter(trackable)
            case .csv: CSVWriter(trackable, isMatched: isMatched)
            case .mfjson: MovingFeaturesWriter(trackable)
            case .nextbillion: LocationDataWriter()
            case .ably: AblyHistoryWriter()
            }
    }

    /// Returns the first bytes of the exported file, such as a header, which precede those of the first point. Call
    /// this function once.
    public mutating func begin() -> [UInt8] { Array(self.writer.begin().utf8) }

    /// Returns the bytes of the next point. If the point comes from another stream (another life of the publisher's
    /// log) than the previous point, the track is interrupted between them, as by ``interrupt()``.
    public mutating func append(_ point: Location) -> [UInt8] {
        Array(self.interruption(before: point).utf8) + self.writer.append(point)
    }

    /// Returns the bytes of the next point, which was matched with a road. The track is interrupted before a point that
    /// follows missing ones.
    public mutating func append(_ point: MatchedPoint) -> [UInt8] {
        let interruption = point.isInterrupted ? self.writer.interrupt() : ""
        return Array((interruption + self.interruption(before: point.location)).utf8) + self.writer.append(point)
    }

    private mutating func interruption(before point: Location) -> String {
        let isOther = point.stream != nil && self.lastStream != nil && point.stream != self.lastStream
        self.lastStream = point.stream ?? self.lastStream
        return isOther ? self.writer.interrupt() : ""
    }

    /// Interrupts the exported track between the last point and the next one, because points are missing there. Formats
    /// that draw a track leave a gap.
    ///
    /// - Returns: The bytes that the format needs for the interruption.
    public mutating func interrupt() -> [UInt8] { Array(self.writer.interrupt().utf8) }

    /// Returns the last bytes of the exported file, which follow those of the last point. Call this function once.
    public mutating func finish() -> [UInt8] { Array(self.writer.finish().utf8) }
}

/// A type that writes points in one export format. A ``HistoryWriter`` uses the type of its format.
protocol PointWriter: Sendable {
    mutating func begin() -> String
    mutating func append(_ point: Location) -> [UInt8]
    mutating func append(_ point: MatchedPoint) -> [UInt8]
    mutating func interrupt() -> String
    mutating func finish() -> String
}

/// Default implementations for export formats that write nothing before the first point, between pieces of a track and
/// after the last point, and that have no place for the road of a point.
extension PointWriter {
    func begin() -> String { "" }
    mutating func append(_ point: MatchedPoint) -> [UInt8] { self.append(point.location) }
    func interrupt() -> String { "" }
    func finish() -> String { "" }
}
