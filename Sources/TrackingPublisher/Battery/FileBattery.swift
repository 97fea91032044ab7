/// A file that holds a percentage, read again every second: whatever knows the battery writes it there.
public struct FileBattery: BatterySource {
    private let path: String
    private let period: Duration

    /// The file at `path`, looked at every `period`. It need not be there yet.
    public init(path: String, every period: Duration = .seconds(1)) {
        self.path = path
        self.period = period
    }

    /// Delivers the charge at once and whenever it changes, until cancelled.
    public func run(deliver: @escaping BatteryEvent.Delivery) async {
        var follower = BatteryFollower(name: "battery file:\(self.path)")
        await follower.follow(every: self.period, deliver) {
            guard let bytes = SmallFile.read(self.path) else { return .failure("cannot be read") }
            return BatteryPercent.parse(bytes).map { .percent($0) } ?? .failure("holds no percentage from 0 to 100")
        }
    }
}
