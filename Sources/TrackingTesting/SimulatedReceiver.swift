public import TrackingCore

/// A simulated position receiver with a model of its power: it is asleep, searches for a fix, or measures once a
/// second.
///
/// A test moves its time forward with ``advance(to:)``. No real time passes.
///
/// | sleep before waking | time to the first fix | start |
/// |---|---|---|
/// | up to 2 h | 1.5 to 6 s | hot: the orbits of the satellites are known |
/// | up to 7 d | 25 to 32 s | warm: only their approximate places are known |
/// | longer, or the first start | 30 to 45 s | cold |
public struct SimulatedReceiver: Sendable {
    /// The current that the receiver draws in each state, in milliamperes. The values are typical of small modules.
    public enum Current {
        /// The current while the receiver searches for its first fix.
        public static let searching = 30.0
        /// The current while the receiver measures.
        public static let measuring = 22.0
        /// The current while the receiver sleeps with its memory powered.
        public static let sleeping = 0.015
    }

    private enum State: Sendable {
        /// The receiver sleeps since this time; `nil` before its first start. Next state: `searching`.
        case asleep(since: MonotonicTime?)
        /// The receiver searches for its first fix, which it has at this time. Next states: `measuring`, `asleep`.
        case searching(until: MonotonicTime)
        /// The receiver measures; its next fix is at this time. Next state: `asleep`.
        case measuring(next: MonotonicTime)
    }

    /// The time for which the receiver was awake so far.
    public private(set) var onTime: Duration = .zero
    /// The charge that the receiver has drawn so far, in milliampere-hours.
    public private(set) var charge = 0.0

    private var state = State.asleep(since: nil)
    private var now: MonotonicTime
    private var random: SplitMix64

    /// Creates a receiver that has never been awake. The same seed gives the same times to the first fix.
    public init(seed: UInt64, now: MonotonicTime) {
        self.random = SplitMix64(seed: seed)
        self.now = now
    }

    /// Wakes the receiver, which then searches for its first fix. Does nothing if it is awake.
    public mutating func wake() {
        guard case .asleep(let since) = self.state else { return }
        let asleep = since?.duration(to: self.now) ?? .longest
        let seconds: ClosedRange<Double> =
            asleep <= .seconds(2 * 3600) ? 1.5...6 : asleep <= .seconds(7 * 86_400) ? 25...32 : 30...45
        let start = Double.random(in: seconds, using: &self.random)
        self.state = .searching(until: self.now.advanced(by: .seconds(start)))
    }

    /// Puts the receiver to sleep. Does nothing if it is asleep.
    public mutating func sleep() {
        if case .asleep = self.state { return }
        self.state = .asleep(since: self.now)
    }

    /// Moves the time forward, by at most one second at a time. Returns `true` if the receiver has made a fix
    /// meanwhile.
    public mutating func advance(to time: MonotonicTime) -> Bool {
        let elapsed = self.now.duration(to: time)
        precondition(elapsed >= .zero && elapsed <= .seconds(1), "the time must advance by 0 to 1 s")
        self.now = time
        switch self.state {
        case .asleep:
            self.draw(Current.sleeping, for: elapsed)
            return false
        case .searching(let end):
            self.onTime += elapsed
            self.draw(Current.searching, for: elapsed)
            guard end <= time else { return false }
            self.state = .measuring(next: time.advanced(by: .seconds(1)))
            return true
        case .measuring(let next):
            self.onTime += elapsed
            self.draw(Current.measuring, for: elapsed)
            guard next <= time else { return false }
            self.state = .measuring(next: next.advanced(by: .seconds(1)))
            return true
        }
    }

    private mutating func draw(_ current: Double, for time: Duration) {
        self.charge += current * time.inSeconds / 3600
    }
}
