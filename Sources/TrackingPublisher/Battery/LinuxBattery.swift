/// The mean charge of the batteries that Linux lists, except those of peripheral devices such as mice.
public struct LinuxBattery: BatterySource {
    private let directory: String
    private let period: Duration

    /// Creates a source that reads the power supplies of the device periodically.
    ///
    /// - Parameters:
    ///   - directory: The directory of the power supplies, in the form of Linux's `/sys/class/power_supply`.
    ///   - period: The time between two readings, > 0 s.
    public init(directory: String = "/sys/class/power_supply", every period: Duration = .seconds(15)) {
        self.directory = directory
        self.period = period
    }

    /// Delivers the charge at once and after each change, until the task is cancelled. On a device without a battery,
    /// the charge is unknown.
    public func run(deliver: @escaping BatteryEvent.Delivery) async {
        var follower = BatteryFollower(name: "battery \(self.directory)")
        await follower.follow(every: self.period, deliver) {
            self.percent.map { .percent($0) } ?? .absent
        }
    }

    private var percent: Double? {
        let charges = SmallFile.names(in: self.directory).compactMap { self.charge(of: "\(self.directory)/\($0)") }
        return charges.isEmpty ? nil : charges.reduce(0, +) / Double(charges.count)
    }

    private func charge(of supply: String) -> Double? {
        guard SmallFile.text("\(supply)/type") == "Battery", SmallFile.text("\(supply)/scope") != "Device",
            SmallFile.text("\(supply)/present") != "0"
        else { return nil }
        return SmallFile.read("\(supply)/capacity").flatMap { BatteryPercent.parse($0) }
    }
}
