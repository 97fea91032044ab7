import TrackingCore

/// The small numbers that words are stored as; the views have the words. A number once given is never given another
/// meaning.
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
    /// The bit of each.
    var bit: Int64 {
        switch self {
        case .driving: 1
        case .walking: 2
        case .running: 4
        case .cycling: 8
        case .stationary: 16
        }
    }

    /// The sum of the bits; `nil` of none.
    static func code(of motion: [Motion]) -> Int64? {
        motion.isEmpty ? nil : motion.reduce(0) { $0 | $1.bit }
    }

    /// The words of a sum of bits.
    static func all(in code: Int64) -> [Motion] { Self.allCases.filter { $0.bit & code != 0 } }
}

/// Writes the words of codes for views.
enum CodeWords {
    /// `CASE column WHEN 1 THEN 'ACTIVE' … END`.
    static func sql<Word: CaseIterable & RawRepresentable<String>>(
        _ column: String, _ type: Word.Type, _ code: (Word) -> Int64
    ) -> String {
        let cases = Word.allCases.map { "WHEN \(code($0)) THEN '\($0.rawValue)'" }
        return "CASE \(column) \(cases.joined(separator: " ")) END"
    }
}
