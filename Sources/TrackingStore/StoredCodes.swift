import TrackingCore

/// The numbers that replace the words of a point (mode, motion, source) in the database, to save space. The views
/// translate the numbers back to words. A number never changes its meaning.
extension TrackingMode {
    var code: Int64 {
        switch self {
        case .active: 1
        case .balanced: 2
        case .passive: 3
        case .custom: 4
        }
    }

    init?(code: Int64) {
        guard let mode = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = mode
    }
}

extension SourceKind {
    var code: Int64 {
        switch self {
        case .gps: 1
        case .network: 2
        case .replay: 3
        case .simulated: 4
        case .zone: 5
        case .predicted: 6
        }
    }

    init?(code: Int64) {
        guard let source = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = source
    }
}

extension Motion {
    /// The bit for this kind of motion in the stored number, which combines several kinds.
    var bit: Int64 {
        switch self {
        case .driving: 1
        case .walking: 2
        case .running: 4
        case .cycling: 8
        case .stationary: 16
        }
    }

    /// Returns the stored number for several kinds of motion, the sum of their bits; `nil` for an empty list.
    static func code(of motion: [Motion]) -> Int64? {
        motion.isEmpty ? nil : motion.reduce(0) { $0 | $1.bit }
    }

    /// Returns the kinds of motion whose bits are in a stored number.
    static func all(in code: Int64) -> [Motion] { Self.allCases.filter { $0.bit & code != 0 } }
}

/// SQL expressions that translate stored numbers back to words, for the database's views.
enum CodeWords {
    /// Returns an SQL expression that translates the numbers of a column to words: `CASE column WHEN 1 THEN 'ACTIVE' …
    /// END`.
    static func sql<Word: CaseIterable & RawRepresentable<String>>(
        _ column: String, _ type: Word.Type, _ code: (Word) -> Int64
    ) -> String {
        let cases = Word.allCases.map { "WHEN \(code($0)) THEN '\($0.rawValue)'" }
        return "CASE \(column) \(cases.joined(separator: " ")) END"
    }
}
