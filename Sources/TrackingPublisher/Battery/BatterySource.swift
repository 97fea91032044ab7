public import TrackingCore

/// Where the charge of the device's battery comes from.
public protocol BatterySource: Sendable {
    /// Delivers the charge at once and whenever it changes, until the task is cancelled or nothing can change any more.
    func run(deliver: @escaping BatteryEvent.Delivery) async
}

/// What a battery tells.
public enum BatteryEvent: Hashable, Sendable {
    /// Whoever is told; the same type in every package, whatever its async functions inherit.
    public typealias Delivery = @Sendable @concurrent (BatteryEvent) async -> Void

    /// The charge in percent, 0…100; `nil` when it is unknown.
    case level(Double?)
    /// What was refused, said once for each new reason; the charge is unknown meanwhile.
    case badInput(String)
}

/// A battery as its user writes it (`--battery`).
public enum BatterySpecification: Hashable, Sendable {
    /// The batteries that Linux knows of.
    case auto
    /// No battery: its charge is unknown.
    case none
    /// A file that holds a percentage, followed as it changes.
    case file(String)
    /// Always this percentage, 0…100.
    case fixed(Double)

    /// Reads `auto`, `none`, `file:PATH` or `fixed:PERCENT`.
    ///
    /// - Throws: `invalidConfiguration` for anything else.
    public static func parse(_ text: String) throws(TrackingError) -> BatterySpecification {
        switch text {
        case "auto": return .auto
        case "none": return .none
        case _ where text.hasPrefix("file:") && text.utf8.count > 5: return .file(String(text.dropFirst(5)))
        case _ where text.hasPrefix("fixed:"):
            guard let percent = BatteryPercent.parse(text.dropFirst(6).utf8) else {
                throw TrackingError(
                    .invalidConfiguration, "battery '\(text)': fixed: is followed by a percentage from 0 to 100")
            }
            return .fixed(percent)
        default:
            throw TrackingError(
                .invalidConfiguration, "battery '\(text)' is none of auto, none, file:PATH, fixed:PERCENT")
        }
    }

    /// Makes the source; `nil` for none.
    public func makeSource() -> (any BatterySource)? {
        switch self {
        case .auto: LinuxBattery()
        case .none: nil
        case .file(let path): FileBattery(path: path)
        case .fixed(let percent): FixedBattery(percent: percent)
        }
    }
}
