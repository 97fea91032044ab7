/// Converts the age of a position, the time since it was measured, to a short text for people, such as `12 min`.
public enum AgeText {
    /// Returns an age as text in one unit, rounded down: `45 s`, `12 min`, `26 h`, `9 d`, `7 y`. The unit is seconds
    /// below two minutes, minutes below two hours, hours below two days, days below two years, and otherwise years. The
    /// age of a time in the future is `0 s`, and a number that is not finite gives `–`.
    public static func text(_ seconds: Double) -> String {
        guard seconds.isFinite else { return TextTable.none }
        for (limit, unit, name) in self.units where seconds < limit {
            return "\(Int(max(0, seconds / unit))) \(name)"
        }
        return "\(Int(min(seconds / 31_556_952, 1e6))) y"
    }

    /// The units of ages below two years, the shortest first. Each has the age in seconds from which the next unit is
    /// used, its length in seconds, and its name.
    private static let units: [(Double, Double, String)] = [
        (120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h"), (63_113_904, 86_400, "d"),
    ]
}
