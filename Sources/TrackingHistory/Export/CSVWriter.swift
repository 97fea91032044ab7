import TrackingCore

/// Writes CSV by RFC 4180: a header, commas, CR LF line ends, quotes where necessary. Texts that begin like a formula
/// get an apostrophe, so that spreadsheets do not execute them; see ``CSVField``.
struct CSVWriter: PointWriter {
    private let trackable: TrackableID

    init(_ trackable: TrackableID) { self.trackable = trackable }

    func begin() -> String { Self.line(CSVColumn.allCases.map(\.rawValue)) }

    func append(_ point: Location) -> [UInt8] {
        Array(Self.line(CSVColumn.allCases.map { $0.field(point, of: self.trackable) }).utf8)
    }

    private static func line(_ fields: [String]) -> String { fields.joined(separator: ",") + "\r\n" }
}
