import TrackingCore

/// CSV as RFC 4180 has it: a header, commas, lines that end in CR LF, quotes where they are needed. Texts are protected: see ``CSVField``.
struct CSVWriter: PointWriter {
    private let trackable: TrackableID

    init(_ trackable: TrackableID) { self.trackable = trackable }

    func begin() -> String { Self.line(CSVColumn.allCases.map(\.rawValue)) }

    func append(_ point: Location) -> [UInt8] {
        Array(Self.line(CSVColumn.allCases.map { $0.field(point, of: self.trackable) }).utf8)
    }

    private static func line(_ fields: [String]) -> String { fields.joined(separator: ",") + "\r\n" }
}
