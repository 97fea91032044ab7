import TrackingCore

/// Writes CSV by RFC 4180: a header, commas, CR LF line ends, quotes where necessary. Texts that begin like a formula
/// get an apostrophe, so that spreadsheets do not execute them; see ``CSVField``.
struct CSVWriter: PointWriter {
    private let trackable: TrackableID
    /// `true` for a table with the columns ``roadColumns``.
    private let isMatched: Bool

    /// The columns of matched points after those of all points.
    private static let roadColumns = ["road", "confidence"]

    init(_ trackable: TrackableID, isMatched: Bool) { (self.trackable, self.isMatched) = (trackable, isMatched) }

    func begin() -> String { Self.line(CSVColumn.allCases.map(\.rawValue) + (self.isMatched ? Self.roadColumns : [])) }

    func append(_ point: Location) -> [UInt8] { Array(Self.line(self.fields(point)).utf8) }

    func append(_ point: MatchedPoint) -> [UInt8] {
        let road = [CSVField.text(point.road ?? ""), CSVField.value(point.confidence.rawValue)]
        return Array(Self.line(self.fields(point.location) + road).utf8)
    }

    private func fields(_ point: Location) -> [String] {
        CSVColumn.allCases.map { $0.field(point, of: self.trackable) }
    }

    private static func line(_ fields: [String]) -> String { fields.joined(separator: ",") + "\r\n" }
}
