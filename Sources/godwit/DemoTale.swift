import TrackingCore

/// The story of `godwit demo` on a terminal. It determines the time of each step and the meaning of each key. The
/// caller performs the steps.
struct DemoTale: Sendable {
    /// A step of the demo's story, which changes the situation of the simulated van or ends the demo.
    enum Step: Hashable, Sendable {
        /// The demo's own watcher begins to watch the van (`true`) or stops watching it (`false`).
        case watcher(isThere: Bool)
        /// The charge of the van's battery falls to 15 % (`true`), or is 80 % again (`false`).
        case battery(isLow: Bool)
        /// The van's network becomes available again (`true`) or is cut (`false`).
        case network(isUp: Bool)
        /// The demo prints its summary and ends.
        case end
    }

    /// The steps of the story, each with its time in seconds after the start.
    private static let story: [(second: Double, step: Step)] = [
        (8, .watcher(isThere: true)), (22, .battery(isLow: true)), (34, .battery(isLow: false)),
        (38, .network(isUp: false)), (48, .network(isUp: true)), (56, .watcher(isThere: false)), (62, .end),
    ]

    /// `true` while the demo's own watcher is watching the van.
    private(set) var hasWatcher = false
    /// `true` while the charge of the van's battery is 15 %, below the agent's threshold. The story or the key `b`
    /// changes it.
    private(set) var isBatteryLow = false
    /// `true` while the van can reach the broker.
    private(set) var isNetworkUp = true
    /// `true` once the user has pressed `w`, `b`, `n` or `q` in the demo. From then on, the story's steps happen by
    /// keys only, and no longer at their times.
    private(set) var isSteered = false
    private var nextStep = 0

    /// The explanation of the keys for the terminal.
    static let keys = "w watcher   b battery   n network   q end"

    /// Returns the steps of the story whose time has come and that were not returned before. Returns none once the user
    /// has pressed a key that causes a step.
    ///
    /// - Parameters:
    ///   - elapsed: The time since the start of the story.
    ///   - isMapOpen: `true` while a map is open. The story then does not end by itself, only by the key `q`.
    mutating func due(after elapsed: Duration, isMapOpen: Bool) -> [Step] {
        var steps: [Step] = []
        while !self.isSteered, self.nextStep < Self.story.count {
            let (second, step) = Self.story[self.nextStep]
            guard elapsed >= .seconds(second), step != .end || !isMapOpen else { break }
            self.nextStep += 1
            steps.append(step)
            self.apply(step)
        }
        return steps
    }

    /// Returns the step of the story that a pressed key causes; `nil` for any key but `w`, `b`, `n` and `q`. After such
    /// a key, no step happens at its time any more.
    mutating func pressed(_ key: Character) -> Step? {
        let step: Step
        switch key {
        case "w": step = .watcher(isThere: !self.hasWatcher)
        case "b": step = .battery(isLow: !self.isBatteryLow)
        case "n": step = .network(isUp: !self.isNetworkUp)
        case "q": step = .end
        default: return nil
        }
        self.isSteered = true
        self.apply(step)
        return step
    }

    private mutating func apply(_ step: Step) {
        switch step {
        case .watcher(let isThere): self.hasWatcher = isThere
        case .battery(let isLow): self.isBatteryLow = isLow
        case .network(let isUp): self.isNetworkUp = isUp
        case .end: break
        }
    }

    /// Returns the sentence for the user that the demo prints before it performs a step of its story.
    static func sentence(for step: Step) -> String {
        switch step {
        case .watcher(isThere: true): "A watcher joins and asks for one position a second."
        case .watcher(isThere: false): "The watcher leaves. Nobody needs a position a second any more."
        case .battery(isLow: true): "The battery falls to 15 %. The van sends one fifth of the positions."
        case .battery(isLow: false): "The battery is charged again."
        case .network(isUp: false): "The van's network is cut. The van keeps recording."
        case .network(isUp: true): "The network is back. The van sends what it recorded meanwhile."
        case .end: "The story ends."
        }
    }
}

/// The pace at which the van's positions arrive in the demo, as a number of positions a minute.
struct DemoPace: Sendable {
    private var arrivals: [Duration] = []

    /// Stores the arrival time of a position. The pace is computed from the last four arrivals.
    ///
    /// - Parameter elapsed: The time of the arrival, since the start of the story.
    mutating func arrived(at elapsed: Duration) {
        self.arrivals.append(elapsed)
        if self.arrivals.count > 4 { self.arrivals.removeFirst() }
    }

    /// Returns the pace as the number of positions a minute; `nil` before the second position. The pace is 60 s divided
    /// by the mean interval between the last four positions. If more time than this mean has passed since the last
    /// position, the pace is 60 s divided by that time.
    func perMinute(at elapsed: Duration) -> Double? {
        guard let first = self.arrivals.first, let last = self.arrivals.last, self.arrivals.count > 1 else {
            return nil
        }
        let gap = max((last - first) / (self.arrivals.count - 1), elapsed - last)
        return 60 / max(gap.inSeconds, 0.1)
    }

    /// Returns a bar of ten characters for a number of positions a minute. The faster the pace, the more of its blocks
    /// are full. All ten are full at 60 positions a minute or more.
    static func bar(_ perMinute: Double) -> String {
        let count = perMinute <= 0 ? 0 : min(10, max(1, Int((perMinute / 6).rounded())))
        return String(repeating: "█", count: count) + String(repeating: "░", count: 10 - count)
    }
}
