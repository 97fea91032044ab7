public import TrackingCore
import TrackingRuntime

/// An invented courier who drives round the streets of Limerick for ever.
///
/// Its receiver follows the resolution: a fix each desired interval (at least 100 ms), with the error of the accuracy asked for.
public struct SimulatedSource: LocationSource {
    /// How the courier drives.
    public struct Configuration: Hashable, Sendable {
        /// How much faster than a car it drives, > 0. The fixes are stamped with the device's clock, so the vehicle really is that
        /// fast, and says so.
        public var speedFactor: Double
        /// The same seed stops at the same lights and errs the same.
        public var seed: UInt64
        /// The class of accuracy of the source.
        public var accuracy: Resolution.Accuracy

        /// Makes a configuration.
        public init(speedFactor: Double = 1, seed: UInt64 = 1, accuracy: Resolution.Accuracy = .high) {
            self.speedFactor = speedFactor
            self.seed = seed
            self.accuracy = accuracy
        }
    }

    /// The shortest time between two fixes.
    private static let shortestCycle: Duration = .milliseconds(100)
    /// The longest sleep: a finer resolution that comes meanwhile wakes it anyway.
    private static let longestSleep: Duration = .seconds(1)

    /// When the courier left.
    private static let departure = SourceClock.now

    /// What is known of the source before it runs.
    public let facts: SourceFacts
    private let configuration: Configuration
    private let wanted = ResolutionBox()

    /// A courier.
    public init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
        _ = Self.departure
        self.facts = SourceFacts(
            name: "simulate:#accuracy=\(configuration.accuracy.rawValue)", kind: .simulated, isFinite: false,
            isLive: false, accuracy: configuration.accuracy)
    }

    /// Says which resolution is wanted from now on.
    public func use(_ resolution: Resolution) async { self.wanted.set(resolution) }

    /// Delivers fixes until cancelled.
    public func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
        let waiter = Waiter()
        self.wanted.wakes(waiter)
        defer { self.wanted.wakes(nil) }
        var vehicle = DriveModel(route: .limerickCourier, seed: self.configuration.seed)
        var receiver = ReceiverModel(seed: self.configuration.seed)
        // Simulations of one process are views of the same courier: closing one and opening another moves nobody.
        var last = Self.departure
        var due = SourceClock.now
        while !Task.isCancelled {
            let now = SourceClock.now
            vehicle.advance(by: last.duration(to: now).inSeconds * self.configuration.speedFactor)
            last = now
            let cycle = max(self.wanted.current?.desiredInterval ?? .seconds(1), Self.shortestCycle)
            due = min(due, now.advanced(by: cycle))
            if due <= now {
                let accuracy = self.wanted.current?.accuracy ?? .high
                let fix = receiver.fix(
                    of: vehicle, at: SourceClock.unix, accuracy: accuracy, speedFactor: self.configuration.speedFactor)
                await deliver(.fix(fix))
                // Counted from when it was due, so that the rate holds; after a pause it starts anew.
                due = max(due.advanced(by: cycle), now)
            }
            let wake = Poller.Interest(deadline: min(due, now.advanced(by: Self.longestSleep)))
            let id = Poller.shared.arm(wake, waiter)
            _ = await waiter.next()
            Poller.shared.disarm(id)
        }
    }
}
