/// The target for a measured value.
public enum Bound: Sendable {
    /// The value must be at least this number.
    case atLeast(Double)
    /// The value must be at most this number.
    case atMost(Double)
    /// The value must be less than this number.
    case below(Double)

    func isMet(by value: Double) -> Bool {
        switch self {
        case .atLeast(let bound): value >= bound
        case .atMost(let bound): value <= bound
        case .below(let bound): value < bound
        }
    }

    func text(_ unit: String) -> String {
        switch self {
        case .atLeast(let bound): "≥ \(Report.text(bound)) \(unit)"
        case .atMost(let bound): "≤ \(Report.text(bound)) \(unit)"
        case .below(let bound): "< \(Report.text(bound)) \(unit)"
        }
    }
}

/// The table of results that a benchmark prints as Markdown: a row for each measurement, with `ok` or `MISSED` for its
/// target.
public struct Report {
    private static let widths = [64, 18, 18, 10, 12, 6]
    private var isMissed = false

    /// Prints the head of the table.
    public init() {
        Self.line(["what", "reference", "measured", "ratio", "target", ""])
        print("|" + Self.widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|")
    }

    /// Prints a measurement beside its reference.
    ///
    /// - Parameter ratio: The ratio to compare with the target; `nil` for `measured / reference`.
    public mutating func compare(
        _ what: String, reference: Double, measured: Double, _ unit: String, ratio: Double? = nil, _ bound: Bound? = nil
    ) {
        let ratio = ratio ?? measured / reference
        self.row(
            what, "\(Self.text(reference)) \(unit)", "\(Self.text(measured)) \(unit)", "\(Self.text(ratio)) ×",
            bound?.text("×"), bound?.isMet(by: ratio))
    }

    /// Prints a measurement without a reference.
    public mutating func measure(_ what: String, _ measured: Double, _ unit: String, _ bound: Bound? = nil) {
        self.row(what, "–", "\(Self.text(measured)) \(unit)", "–", bound?.text(unit), bound?.isMet(by: measured))
    }

    /// `true` if every value met its target so far.
    public var isMet: Bool { !self.isMissed }

    private mutating func row(
        _ what: String, _ reference: String, _ measured: String, _ ratio: String, _ bound: String?, _ isMet: Bool?
    ) {
        if isMet == false { self.isMissed = true }
        let verdict = isMet.map { $0 ? "ok" : "MISSED" } ?? ""
        Self.line([what, reference, measured, ratio, bound ?? "printed", verdict])
    }

    private static func line(_ cells: [String]) {
        let padded = zip(cells, self.widths).map { cell, width in
            cell + String(repeating: " ", count: max(0, width - cell.count))
        }
        print("| " + padded.joined(separator: " | ") + " |")
    }

    /// Returns a number as text: a whole number from 100 on, otherwise with three digits.
    static func text(_ value: Double) -> String {
        let scale: Double = abs(value) >= 100 ? 1 : abs(value) >= 10 ? 10 : 100
        let rounded = (value * scale).rounded() / scale
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }
}
