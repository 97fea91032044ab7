public import TrackingCore
import TrackingRuntime

/// A simulated courier who drives through the streets of Limerick without end.
///
/// The simulated receiver follows the resolution. It makes a fix each desired interval (at least 100 ms), with the
/// error of the requested accuracy.
public struct SimulatedSource: LocationSource {
    /// The parameters of the simulated drive: its speed, its seed, and the class of accuracy that the source states.
    public struct Configuration: Hashable, Sendable {
        /// The speed as a multiple of a car's, > 0. The device's clock stamps the fixes, so the reported speed is
        /// multiplied too.
        public var speedFactor: Double
        /// The seed of the random numbers, from 1 on. The same seed gives the same start, the same stops and the same
        /// errors. The drive with seed 1 begins at the first point of the route.
        public var seed: UInt64
        /// The class of accuracy that the simulated source states, by which a source is selected.
        public var accuracy: Resolution.Accuracy

        /// Makes a configuration.
        ///
        /// - Parameters:
        ///   - speedFactor: The speed as a multiple of a car's, > 0.
        ///   - seed: The seed of the random numbers.
        ///   - accuracy: The class of accuracy of the source.
        public init(speedFactor: Double = 1, seed: UInt64 = 1, accuracy: Resolution.Accuracy = .high) {
            self.speedFactor = speedFactor
            self.seed = seed
            self.accuracy = accuracy
        }
    }

    /// The shortest time between two simulated fixes.
    private static let shortestCycle: Duration = .milliseconds(100)
    /// The longest time for which the simulation sleeps between two steps. A new resolution wakes it earlier.
    private static let longestSleep: Duration = .seconds(1)

    /// The moment at which the courier starts the drive. It is common to all simulations of the process.
    private static let departure = DeviceClock.now

    /// The properties of the source that are known before it runs: its name, its kind, its class of accuracy, whether
    /// it ends by itself, and whether it is a live receiver that measures the current position.
    public let facts: SourceFacts
    private let configuration: Configuration
    private let wanted = ResolutionBox()

    /// Creates a source of fixes of a simulated courier.
    ///
    /// - Parameter configuration: The parameters of the drive.
    public init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
        _ = Self.departure
        self.facts = SourceFacts(
            name: "simulate:#accuracy=\(configuration.accuracy.rawValue)", kind: .simulated, isFinite: false,
            isLive: false, accuracy: configuration.accuracy)
    }

    /// Returns the seed of the simulated drive for a vehicle with this name, computed from the name. The same name
    /// always has the same seed, and different names almost certainly have different seeds.
    public static func seed(for name: String) -> UInt64 {
        // FNV-1a, because Swift's own hash values change with each run.
        max(1, name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 })
    }

    /// Sets the resolution that the trackables need from now on. The following simulated fixes have its interval, and
    /// the position error of its accuracy.
    public func use(_ resolution: Resolution) async { self.wanted.set(resolution) }

    /// Delivers simulated fixes until the task is cancelled.
    public func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
        let waiter = Waiter()
        self.wanted.wakes(waiter)
        defer { self.wanted.wakes(nil) }
        let seed = self.configuration.seed
        var vehicle = DriveModel(route: .limerickCourier, seed: seed, start: DriveModel.start(seed: seed))
        var receiver = ReceiverModel(seed: self.configuration.seed)
        // All simulations of one process show the same courier: a new simulation continues the drive of an earlier
        // one.
        var last = Self.departure
        var due = DeviceClock.now
        while !Task.isCancelled {
            let now = DeviceClock.now
            vehicle.advance(by: last.duration(to: now).inSeconds * self.configuration.speedFactor)
            last = now
            let cycle = max(self.wanted.current?.desiredInterval ?? .seconds(1), Self.shortestCycle)
            due = min(due, now.advanced(by: cycle))
            if due <= now {
                let accuracy = self.wanted.current?.accuracy ?? .high
                let fix = receiver.fix(
                    of: vehicle, at: DeviceClock.wall, accuracy: accuracy, speedFactor: self.configuration.speedFactor)
                await deliver(.fix(fix))
                // The next fix is due one cycle after the deadline, not after this moment, so that the rate is exact.
                // A pause resets the cycle.
                due = max(due.advanced(by: cycle), now)
            }
            let wake = Poller.Interest(deadline: min(due, now.advanced(by: Self.longestSleep)))
            let id = Poller.shared.arm(wake, waiter)
            _ = await waiter.next()
            Poller.shared.disarm(id)
        }
    }
}
