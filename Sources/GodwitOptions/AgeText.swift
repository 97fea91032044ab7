/// Converts the ages of positions to text for people.
public enum AgeText {
    /// Returns an age in whole seconds, from two minutes on in minutes, from two hours on in hours, from two days on in
    /// days, and from two years on in years: `45 s`, `12 min`, `26 h`, `9 d`, `7 y`. The age of a time in the future is
    /// `0 s`.
    public static func text(_ seconds: Double) -> String {
        guard seconds.isFinite else { return TextTable.none }
        for (limit, unit, name) in self.units where seconds < limit {
            return "\(Int(max(0, seconds / unit))) \(name)"
        }
        return "\(Int(min(seconds / 31_556_952, 1e6))) y"
    }

    /// The largest age for each unit, the seconds of the unit, and its name.
    private static let units: [(Double, Double, String)] = [
        (120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h"), (63_113_904, 86_400, "d"),
    ]
}
