import GodwitOptions
import ServiceLifecycle
import Synchronization
import TrackingCore
import TrackingMQTT
import TrackingRuntime
import TrackingSubscriber

/// The form of `godwit demo` without keys, which runs if there is no terminal, or with `--script` or `--duration`. Each
/// step is announced, performed, and observed until its effect is seen.
final class DemoShow: Service {
    private let stage: DemoStage
    private let isScript: Bool
    private let duration: Double?
    private let succeeded = Mutex(false)
    private let seen = Mutex(Seen())
    /// The number of seconds within which the effect of a step must be observed, unless the courier must drive some way
    /// first. It takes a few seconds, and more on a machine under load.
    private static let patience = 60

    /// The observations of the demo's own subscriber. It watches the simulated courier silently, so that the publisher
    /// does not count it as a subscriber.
    fileprivate struct Seen {
        var inForce: ResolutionInForce?
        var arrivals: [MonotonicTime] = []
        /// The time at which the demo's observer received the last position. A position that the broker had retained
        /// also counts.
        var lastPosition: MonotonicTime?
    }

    init(stage: DemoStage, isScript: Bool, duration: Double?) {
        self.stage = stage
        self.isScript = isScript
        self.duration = duration
    }

    /// `true` once the effect of every step of the demo was observed.
    var hasSucceeded: Bool { self.succeeded.withLock { $0 } }

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            try await withThrowingTaskGroup(of: Void.self) { group in
                let observer = try self.stage.subscriber("demo-observer", isSilent: true)
                let events = observer.events
                observer.watch(try TrackableID(DemoStage.trackable))
                group.addTask { try await observer.run() }
                group.addTask { for await event in events { try self.note(event) } }
                group.addTask { try await self.runSteps() }
                if let duration = self.duration {
                    group.addTask {
                        try await Task.sleep(for: .seconds(duration))
                        throw CancellationError()
                    }
                }
                defer { group.cancelAll() }
                // The steps end by throwing, and no other task ends by itself. (`waitForAll` would wait for the
                // others.)
                do { while try await group.next() != nil {} } catch is CancellationError {}
            }
        }
    }

    // MARK: - The steps

    private func runSteps() async throws {
        try self.say(
            "A private broker runs at \(self.stage.address). A simulated courier sets out, six times as fast as a van."
        )
        try self.say("See all messages:  mosquitto_sub -v -p \(self.stage.port) -t 'tracking/#'")
        try self.stage.startAgent(for: .script)
        var happened = try await self.chapter(
            "No subscriber: one position every 30 s, and only the coarse source is open.", within: Self.patience
        ) {
            // Waiting for the next position would take long. Five seconds without one show the pace as well.
            $0.inForce?.subscribers == 0 && $0.inForce?.resolution.desiredInterval == .seconds(30)
                && $0.isQuiet && self.stage.selectedSource == "BALANCED"
        }
        let watcher = try self.stage.subscriber("demo-watcher", isSilent: false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await watcher.run() }
            happened = try await self.watched(watcher) && happened
            watcher.finish()
            try await group.waitForAll()
        }
        happened =
            try await self.chapter(
                "The watcher leaves: every 10 s while near, every 30 s when far again; only the coarse source is open.",
                within: 90
            ) {
                guard let inForce = $0.inForce, inForce.subscribers == 0 else { return false }
                let interval: Duration = inForce.isNear ? .seconds(10) : .seconds(30)
                return inForce.resolution.desiredInterval == interval && $0.hasPace(of: interval)
                    && self.stage.selectedSource == "BALANCED"
            } && happened
        self.succeeded.withLock { $0 = happened }
        try self.say(
            happened
                ? "The demo is complete. Every step happened."
                : "The effect of a step was not observed as described. See the step marked ✗ above.")
        if self.isScript { throw CancellationError() }
        try self.say("The courier continues until Ctrl-C.")
    }

    private func watched(_ watcher: AssetSubscriber<MQTTTransport>) async throws -> Bool {
        let wanted = try Resolution(accuracy: .high, desiredInterval: .seconds(1), minimumDisplacement: 0)
        watcher.watch(try TrackableID(DemoStage.trackable), requesting: wanted)
        var happened = try await self.chapter(
            "A watcher arrives and asks for one position a second: the fine source opens.", within: Self.patience
        ) {
            $0.inForce?.resolution == wanted && self.stage.selectedSource == "HIGH" && $0.hasPace(of: .seconds(1))
        }
        self.stage.setBattery(15)
        happened =
            try await self.chapter(
                "The battery falls to 15 %, below the threshold of 20 %: one fifth of the positions.",
                within: Self.patience
            ) {
                $0.inForce?.isLowBattery == true && $0.inForce?.resolution.desiredInterval == .seconds(5)
                    && $0.hasPace(of: .seconds(5))
            } && happened
        self.stage.setBattery(80)
        happened =
            try await self.chapter("The battery is charged again: one position a second.", within: Self.patience) {
                $0.inForce?.isLowBattery == false && $0.hasPace(of: .seconds(1))
            } && happened
        return try await self.chapter(
            "The courier is within 200 m of the destination: two positions a second.", within: 180
        ) {
            $0.inForce?.isNear == true && $0.inForce?.resolution.desiredInterval == .milliseconds(500)
                && $0.hasPace(of: .milliseconds(500))
        } && happened
    }

    /// Announces a step of the demo, and waits until its effect is observed. Returns `false` if it is not observed
    /// within `seconds`.
    private func chapter(
        _ title: String, within seconds: Int, _ isSeen: @Sendable (borrowing Seen) -> Bool
    ) async throws -> Bool {
        try self.say("\n» " + title)
        self.seen.withLock { $0.arrivals = [] }
        let deadline = DeviceClock.now.advanced(by: .seconds(seconds))
        while !self.seen.withLock({ isSeen($0) }) {
            let now = DeviceClock.now
            guard now < deadline else {
                try self.say("  ✗ not observed within \(seconds) s")
                return false
            }
            // A condition can also hold because no position arrived for a while.
            let quiet = self.seen.withLock { $0.untilQuiet }.map { now.advanced(by: $0) }
            let isObserved = await self.stage.changes.wait(until: min(deadline, quiet ?? deadline)) {
                self.seen.withLock { isSeen($0) }
            }
            if !isObserved { try Task.checkCancellation() }
        }
        try self.say("  ✓ observed")
        return true
    }

    // MARK: - Observations

    private func note(_ event: SubscriberEvent) throws {
        defer { self.stage.changes.notify() }
        switch event {
        case .location(_, let received) where received.isRetained:
            // The agent published before the observer joined. A late subscriber receives the last position at once.
            self.seen.withLock { $0.lastPosition = DeviceClock.now }
            try self.say("  · the last position, retained by the broker: \(Self.place(of: received.update.location))")
        case .location(_, let received) where !received.isLate:
            let now = DeviceClock.now
            let gap = self.seen.withLock { seen in
                defer {
                    seen.arrivals.append(now)
                    seen.lastPosition = now
                }
                return seen.arrivals.last.map { $0.duration(to: now) }
            }
            let after = gap.map { ", \($0.inSeconds.text(digits: 1)) s after the last" } ?? ""
            try self.say("  · at \(Self.place(of: received.update.location))\(after)")
        case .resolution(_, let inForce?):
            self.seen.withLock { $0.inForce = inForce }
            try self.say("  → resolution \(WatchPrinter.describe(inForce))")
        case .location, .publishedLocation, .locationCleared, .raw, .state, .presence, .resolution, .trip,
            .tripRecorded, .event, .journey, .estimate, .silent, .refused, .enhancedRefused, .positionsKept,
            .publishRefused, .badMessage, .connection:
            break
        }
    }

    private static func place(of point: Location) -> String {
        let speed = point.speed.map { ", \(($0 * 3.6).text(digits: 0)) km/h" } ?? ""
        return "\(point.coordinate.latitude.text(digits: 5)), \(point.coordinate.longitude.text(digits: 5))\(speed)"
    }

    private func say(_ text: String) throws { try Output.print(text + "\n") }
}

extension DemoShow.Seen {
    /// The time without a new position, 5 s, after which ``isQuiet`` is `true`.
    private static let quiet = Duration.seconds(5)

    /// `true` if no position has arrived for five seconds since the last one.
    var isQuiet: Bool { self.lastPosition.map { $0.duration(to: DeviceClock.now) >= Self.quiet } ?? false }

    /// The time until five seconds have passed since the last position, when ``isQuiet`` becomes `true`; `nil` if it is
    /// `true` already or no position has arrived.
    var untilQuiet: Duration? {
        guard !self.isQuiet, let last = self.lastPosition else { return nil }
        return DeviceClock.now.duration(to: last.advanced(by: Self.quiet))
    }

    /// Returns `true` if the time between the arrivals of the last two live positions is about `interval`: 0.7 to 1.6
    /// times as long. Returns `false` before the second position.
    func hasPace(of interval: Duration) -> Bool {
        guard self.arrivals.count >= 2 else { return false }
        let gap = self.arrivals[self.arrivals.count - 2].duration(to: self.arrivals[self.arrivals.count - 1])
        return gap > interval * 0.7 && gap < interval * 1.6
    }
}
