import TrackingCore

/// The story of `godwit demo` on a terminal: which step is due when, and what each key does. The caller carries out the
/// steps.
struct DemoTale: Sendable {
    /// A change of the demo's scene.
    enum Step: Hashable, Sendable {
        /// A watcher joins or leaves.
        case watcher(isThere: Bool)
        /// The battery is low or charged.
        case battery(isLow: Bool)
        /// The van's network is up or cut.
        case network(isUp: Bool)
        /// The demo ends with its summary.
        case end
    }

    /// The steps of the story, each with the seconds since its start.
    private static let story: [(second: Double, step: Step)] = [
        (8, .watcher(isThere: true)), (22, .battery(isLow: true)), (34, .battery(isLow: false)),
        (38, .network(isUp: false)), (48, .network(isUp: true)), (56, .watcher(isThere: false)), (62, .end),
    ]

    /// `true` while the demo's own watcher watches.
    private(set) var hasWatcher = false
    /// `true` while the battery's charge is below the threshold.
    private(set) var isBatteryLow = false
    /// `true` while the van reaches the broker.
    private(set) var isNetworkUp = true
    /// `true` once a key was pressed. From then on, the user decides every step.
    private(set) var isSteered = false
    private var nextStep = 0

    /// The text for a terminal's last line.
    static let keys = "w watcher   b battery   n network   q end"

    /// Returns the steps of the story that are due.
    ///
    /// - Parameters:
    ///   - elapsed: The time since the start of the story.
    ///   - isMapOpen: `true` while a map is open. The story then ends by the key `q` only.
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

    /// Returns the step that a key causes; `nil` for a key without a meaning.
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

    /// Returns the sentence that announces a step.
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

/// The pace at which positions arrive.
struct DemoPace: Sendable {
    private var arrivals: [Duration] = []

    /// Records a position.
    ///
    /// - Parameter elapsed: The time since the start of the story.
    mutating func arrived(at elapsed: Duration) {
        self.arrivals.append(elapsed)
        if self.arrivals.count > 4 { self.arrivals.removeFirst() }
    }

    /// Returns the positions a minute: 60 s divided by the mean of the last three gaps, or by the time since the last
    /// position if that is longer. `nil` before the second position.
    func perMinute(at elapsed: Duration) -> Double? {
        guard let first = self.arrivals.first, let last = self.arrivals.last, self.arrivals.count > 1 else {
            return nil
        }
        let gap = max((last - first) / (self.arrivals.count - 1), elapsed - last)
        return 60 / max(gap.inSeconds, 0.1)
    }

    /// Returns a bar for a pace: ten full blocks for 60 positions a minute and more.
    static func bar(_ perMinute: Double) -> String {
        let count = perMinute <= 0 ? 0 : min(10, max(1, Int((perMinute / 6).rounded())))
        return String(repeating: "█", count: count) + String(repeating: "░", count: 10 - count)
    }
}
