public import TrackingCore

/// A source of the battery charge of the device.
public protocol BatterySource: Sendable {
    /// Delivers the charge at once and after each change, until the task is cancelled or the charge can no longer
    /// change.
    ///
    /// - Parameter deliver: Receives the events, one after the other. It suspends until the caller has accepted one.
    func run(deliver: @escaping BatteryEvent.Delivery) async
}

/// An event of a battery.
public enum BatteryEvent: Hashable, Sendable {
    /// A function that receives the events. Naming its type here makes it the same in every package, whatever
    /// isolation the package's async functions inherit.
    public typealias Delivery = @Sendable @concurrent (BatteryEvent) async -> Void

    /// The charge in percent, 0…100; `nil` when it is unknown.
    case level(Double?)
    /// An error of the battery, delivered once for each new reason. The charge is unknown until the next level.
    case badInput(String)
}

/// A battery in the form in which its user writes it (`--battery`).
public enum BatterySpecification: Hashable, Sendable {
    /// The batteries that Linux lists.
    case auto
    /// No battery; the charge is unknown.
    case none
    /// A file that contains a percentage and is read periodically.
    case file(String)
    /// A constant percentage, 0…100.
    case fixed(Double)

    /// Parses the text of a specification.
    ///
    /// - Parameter text: `auto`, `none`, `file:PATH` or `fixed:PERCENT`, with a percentage of 0…100.
    /// - Throws: `invalidConfiguration` for any other text.
    public static func parse(_ text: String) throws(TrackingError) -> BatterySpecification {
        switch text {
        case "auto": return .auto
        case "none": return .none
        case _ where text.hasPrefix("file:") && text.utf8.count > 5: return .file(String(text.dropFirst(5)))
        case _ where text.hasPrefix("fixed:"):
            guard let percent = BatteryPercent.parse(text.dropFirst(6).utf8) else {
                throw TrackingError(
                    .invalidConfiguration, "battery '\(text)': a percentage from 0 to 100 must follow after fixed:")
            }
            return .fixed(percent)
        default:
            throw TrackingError(
                .invalidConfiguration, "battery '\(text)': must be auto, none, file:PATH or fixed:PERCENT")
        }
    }

    /// Creates the source; `nil` for `none`.
    public func makeSource() -> (any BatterySource)? {
        switch self {
        case .auto: LinuxBattery()
        case .none: nil
        case .file(let path): FileBattery(path: path)
        case .fixed(let percent): FixedBattery(percent: percent)
        }
    }
}
