public import TrackingCore

/// A source of the battery charge of the device, such as Linux's power supplies or a file.
public protocol BatterySource: Sendable {
    /// Delivers the charge at once and after each change. Returns when the task is cancelled, or when the charge can no
    /// longer change.
    ///
    /// - Parameter deliver: Receives the events, one after the other. The call of `deliver` suspends until the receiver
    ///   has accepted the event.
    func run(deliver: @escaping BatteryEvent.Delivery) async
}

/// An event of a battery source: a changed charge or an error.
public enum BatteryEvent: Hashable, Sendable {
    /// The type of a function that receives the events of a battery source. It has a name so that it is the same type
    /// in every package, even if packages have different defaults for the isolation of async functions.
    public typealias Delivery = @Sendable @concurrent (BatteryEvent) async -> Void

    /// The charge in percent, 0…100; `nil` when it is unknown.
    case level(Double?)
    /// An error of the battery source, as text. It is delivered once for each new reason. The charge is unknown until
    /// the next `level`.
    case badInput(String)
}

/// The user's choice of a battery source, as given with the option `--battery`.
public enum BatterySpecification: Hashable, Sendable {
    /// The batteries of the device that Linux lists.
    case auto
    /// No battery; the charge is unknown.
    case none
    /// A file that contains a percentage and is read periodically.
    case file(String)
    /// A constant charge in percent, 0…100, in place of a real battery.
    case fixed(Double)

    /// Parses the value of the option `--battery`.
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
                    .invalidConfiguration,
                    "cannot use the battery '\(text)': a percentage from 0 to 100 must follow after fixed:")
            }
            return .fixed(percent)
        default:
            throw TrackingError(
                .invalidConfiguration,
                "cannot use the battery '\(text)': it must be auto, none, file:PATH or fixed:PERCENT")
        }
    }

    /// Creates the chosen battery source; `nil` for `none`.
    public func makeSource() -> (any BatterySource)? {
        switch self {
        case .auto: LinuxBattery()
        case .none: nil
        case .file(let path): FileBattery(path: path)
        case .fixed(let percent): FixedBattery(percent: percent)
        }
    }
}
