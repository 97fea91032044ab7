/// A battery with a constant charge, for trials.
public struct FixedBattery: BatterySource {
    private let percent: Double

    /// Creates a battery with a constant charge.
    ///
    /// - Parameter percent: The charge in percent, 0…100.
    public init(percent: Double) { self.percent = percent }

    /// Delivers the constant charge once, and returns.
    public func run(deliver: @escaping BatteryEvent.Delivery) async {
        await deliver(.level(self.percent))
    }
}
