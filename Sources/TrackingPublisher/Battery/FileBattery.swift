/// A battery whose charge another program writes to a file, as a percentage.
public struct FileBattery: BatterySource {
    private let path: String
    private let period: Duration

    /// Creates a battery that reads a file periodically.
    ///
    /// - Parameters:
    ///   - path: The file with a percentage, 0…100. It may be created later.
    ///   - period: The time between two readings, > 0 s.
    public init(path: String, every period: Duration = .seconds(1)) {
        self.path = path
        self.period = period
    }

    /// Delivers the charge at once and after each change, until the task is cancelled. ``BatteryEvent/badInput(_:)``
    /// reports a file that cannot be read or has no percentage.
    public func run(deliver: @escaping BatteryEvent.Delivery) async {
        var follower = BatteryFollower(name: "battery file:\(self.path)")
        await follower.follow(every: self.period, deliver) {
            guard let bytes = SmallFile.read(self.path) else { return .failure("the file cannot be read") }
            return BatteryPercent.parse(bytes).map { .percent($0) }
                ?? .failure("the file contains no percentage from 0 to 100")
        }
    }
}
