import TrackingCore

/// CSV as RFC 4180 has it: a header, commas, lines that end in CR LF, quotes where they are needed.
struct CSVWriter: PointWriter {
    private let trackable: TrackableID

    init(_ trackable: TrackableID) { self.trackable = trackable }

    func begin() -> String { Self.line(CSVColumn.allCases.map(\.rawValue)) }

    func append(_ point: Location) -> [UInt8] {
        Array(Self.line(CSVColumn.allCases.map { $0.text(point, of: self.trackable) }).utf8)
    }

    private static func line(_ fields: [String]) -> String { fields.map(Self.field).joined(separator: ",") + "\r\n" }

    private static func field(_ text: String) -> String {
        let special: [UInt8] = [0x22, 0x2C, 0x0A, 0x0D]
        guard text.utf8.contains(where: special.contains) else { return text }
        // Not characters: a quote with an accent on it is another one.
        let quoted = text.utf8.flatMap { $0 == 0x22 ? [$0, $0] : [$0] }
        return "\"" + String(decoding: quoted, as: UTF8.self) + "\""
    }
}
