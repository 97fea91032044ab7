public import ArgumentParser
public import TrackingCore

/// The units in which people read speeds, distances and altitudes. Messages and files are always in metres and seconds.
public enum DisplayUnits: String, Sendable, CaseIterable, ExpressibleByArgument {
    case metric
    case imperial
    case nautical

    /// Metres in the larger unit of way: kilometre, mile, nautical mile.
    private var way: (metres: Double, name: String) {
        switch self {
        case .metric: (1000, "km")
        case .imperial: (1609.344, "mi")
        case .nautical: (1852, "nmi")
        }
    }

    /// Metres in the smaller unit: metre or foot.
    private var step: (metres: Double, name: String) {
        switch self {
        case .metric, .nautical: (1, "m")
        case .imperial: (0.3048, "ft")
        }
    }

    /// A speed given in metres a second: `29.5 km/h`, `18.3 mph`, `15.9 kn`.
    public func speed(_ metresPerSecond: Double) -> String {
        let name =
            switch self {
            case .metric: "km/h"
            case .imperial: "mph"
            case .nautical: "kn"
            }
        return "\(Self.rounded(metresPerSecond * 3600 / self.way.metres, 1)) \(name)"
    }

    /// A way: `830 m`, `12.4 km`, `2720 ft`, `7.7 mi`, `6.7 nmi`. The smaller unit serves below one of the larger.
    public func distance(_ way: Meters) -> String {
        guard way.value >= self.way.metres else { return self.length(way) }
        return "\(Self.rounded(way.value / self.way.metres, 1)) \(self.way.name)"
    }

    /// A height, a radius: `19 m`, `62 ft`.
    public func length(_ length: Meters) -> String {
        "\(Self.rounded(length.value / self.step.metres, 0)) \(self.step.name)"
    }

    /// A number with `decimals` of 0 or 1 decimals.
    private static func rounded(_ value: Double, _ decimals: Int) -> String {
        guard value.isFinite else { return "–" }
        if decimals == 0 { return value.magnitude < 1e15 ? String(Int(value.rounded())) : String(value) }
        return String((value * 10).rounded() / 10)
    }
}
