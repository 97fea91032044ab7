public import ArgumentParser
public import TrackingCore

/// The units of speeds, distances and altitudes in text for people. Godwit's own messages and files use metres and
/// metres per second instead.
public enum DisplayUnits: String, Sendable, CaseIterable, ExpressibleByArgument {
    case metric
    case imperial
    case nautical

    /// The unit of long distances, kilometre, mile or nautical mile: its length in metres and its name.
    private var long: (metres: Double, name: String) {
        switch self {
        case .metric: (1000, "km")
        case .imperial: (1609.344, "mi")
        case .nautical: (1852, "nmi")
        }
    }

    /// The unit of short distances and heights, metre or foot: its length in metres and its name.
    private var short: (metres: Double, name: String) {
        switch self {
        case .metric, .nautical: (1, "m")
        case .imperial: (0.3048, "ft")
        }
    }

    /// Returns a speed as text, with one decimal: `29.5 km/h`, `18.3 mph`, `15.9 kn`.
    public func speed(_ metresPerSecond: Double) -> String {
        let name =
            switch self {
            case .metric: "km/h"
            case .imperial: "mph"
            case .nautical: "kn"
            }
        return "\(Self.rounded(metresPerSecond * 3600 / self.long.metres, 1)) \(name)"
    }

    /// Returns a distance as text: `830 m`, `12.4 km`, `2720 ft`, `7.7 mi`, `6.7 nmi`. A distance below one kilometre,
    /// mile or nautical mile is in metres or feet.
    public func distance(_ distance: Meters) -> String {
        guard distance.value >= self.long.metres else { return self.length(distance) }
        return "\(Self.rounded(distance.value / self.long.metres, 1)) \(self.long.name)"
    }

    /// Returns a height or a radius as text, in whole metres or feet: `19 m`, `62 ft`.
    public func length(_ length: Meters) -> String {
        "\(Self.rounded(length.value / self.short.metres, 0)) \(self.short.name)"
    }

    /// Returns a number as text with 0 or 1 decimals; `–` for a number that is not finite.
    private static func rounded(_ value: Double, _ decimals: Int) -> String {
        guard value.isFinite else { return "–" }
        if decimals == 0 { return value.magnitude < 1e15 ? String(Int(value.rounded())) : String(value) }
        return String((value * 10).rounded() / 10)
    }
}
