import GodwitOptions
import ServiceLifecycle
import Synchronization
import TrackingCore
import TrackingMQTT
import TrackingStore
import TrackingSubscriber

/// `godwit demo` on a terminal: a story of one minute with a van at its real speed, a link to the live map, and keys
/// for the user.
final class DemoStory: Service {
    private let stage: DemoStage
    private let start = ContinuousClock.now
    private let scene = Mutex(Scene())
    /// The time between two updates of the status bar at the bottom of the terminal.
    private static let frame = Duration.milliseconds(200)
    /// The longest wait until the history contains the records of a network cut, or the last records of the demo.
    private static let patience = Duration.seconds(10)

    private struct Scene {
        var tale = DemoTale()
        var pace = DemoPace()
        var inForce: ResolutionInForce?
        /// The time from the start of the demo to the beginning of its story; `nil` before. The story begins when the
        /// demo receives the van's first resolution, because a slow machine needs some seconds to start the programs.
        var begin: Duration?
        /// The sequence numbers of the van's positions that arrived live, not later from the log.
        var live: Set<UInt64> = []
        /// The time at which the van's network was cut last; `nil` before the first cut.
        var cutAt: UnixTime?
        /// `true` while a browser with the map requests positions, according to the number of subscribers in the last
        /// resolution in force.
        var isMapOpen = false
        /// `true` while the demo's own watcher is still counted as a subscriber in the last resolution in force. The
        /// count goes down only some time after the watcher has left.
        var countsWatcher = false

        /// The number of subscribers to show. The demo's own watcher is not counted any more once it has left.
        var watchers: Int {
            max(0, (self.inForce?.subscribers ?? 0) - (self.countsWatcher && !self.tale.hasWatcher ? 1 : 0))
        }

        /// Stores a new resolution in force, and finds out from its number of subscribers if a map is open.
        ///
        /// - Returns: The resolution in force before, and `true` if a map was opened or closed since.
        mutating func changed(to inForce: ResolutionInForce) -> (before: ResolutionInForce?, isMapChanged: Bool) {
            let wasOpen = self.isMapOpen
            if self.tale.hasWatcher {
                self.countsWatcher = true
            } else if inForce.subscribers < self.inForce?.subscribers ?? 0 {
                self.countsWatcher = false
            }
            self.isMapOpen = inForce.subscribers > (self.countsWatcher ? 1 : 0)
            defer { self.inForce = inForce }
            return (self.inForce, wasOpen != self.isMapOpen)
        }
    }

    init(stage: DemoStage) { self.stage = stage }

    private var elapsed: Duration { self.start.duration(to: .now) }

    func run() async throws {
        let link = try await self.stage.startGateway()
        try self.stage.startAgent(for: .story)
        let terminal = Terminal(Output())
        defer { terminal.restore() }
        try self.introduce(link)
        try await cancelWhenGracefulShutdown {
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                let observer = try self.stage.subscriber("demo-observer", isSilent: true)
                let events = observer.events
                observer.watch(try TrackableID(DemoStage.trackable))
                let watcher = try self.stage.subscriber("demo-watcher", isSilent: false)
                group.addTask { try await observer.run() }
                group.addTask { try await watcher.run() }
                group.addTask { for await event in events { try self.note(event) } }
                group.addTask {
                    try await self.runSteps(terminal, watcher)
                    throw CancellationError()
                }
                do { while try await group.next() != nil {} } catch is CancellationError {}
            }
        }
    }

    // MARK: - Steps

    /// Runs the story until its end or the key `q`, and then prints the summary.
    private func runSteps(_ terminal: Terminal, _ watcher: AssetSubscriber<MQTTTransport>) async throws {
        while true {
            let elapsed = self.elapsed
            let keys = terminal.keys
            let steps = self.scene.withLock { scene in
                keys.compactMap { scene.tale.pressed($0) }
                    + scene.tale.due(after: elapsed - (scene.begin ?? elapsed), isMapOpen: scene.isMapOpen)
            }
            for step in steps {
                if step == .end { return try await self.summarize(after: elapsed) }
                try self.say("\n» " + DemoTale.sentence(for: step))
                try await self.perform(step, watcher)
            }
            try self.drawBar()
            await terminal.wait(for: Self.frame)
            try Task.checkCancellation()
        }
    }

    private func perform(_ step: DemoTale.Step, _ watcher: AssetSubscriber<MQTTTransport>) async throws {
        let id = try TrackableID(DemoStage.trackable)
        switch step {
        case .watcher(isThere: true):
            watcher.watch(
                id, requesting: try Resolution(accuracy: .high, desiredInterval: .seconds(1), minimumDisplacement: 0))
        case .watcher(isThere: false):
            watcher.unwatch(id)
        case .battery(let isLow):
            self.stage.setBattery(isLow ? 15 : 80)
        case .network(isUp: false):
            self.scene.withLock { $0.cutAt = TimeText.now }
            self.stage.cutNetwork()
        case .network(isUp: true):
            self.stage.restoreNetwork()
            if let begin = self.scene.withLock({ $0.cutAt }) {
                try await self.reportGap(TimeSpan(from: begin, to: TimeText.now))
            }
        case .end:
            break
        }
    }

    /// Waits until the history contains points that the van recorded while its network was cut, and their number no
    /// longer grows. Then prints the number.
    private func reportGap(_ cut: TimeSpan) async throws {
        let deadline = ContinuousClock.now + Self.patience
        var count = 0
        while ContinuousClock.now < deadline {
            let found = try await self.stage.recordedPoints(during: cut)
            if found > 0, found == count { break }
            count = found
            try self.drawBar()
            try await Task.sleep(for: .milliseconds(500))
        }
        try self.say(
            count > 0
                ? "  The gap is filled: \(counted(count, "point")) of the cut \(count == 1 ? "is" : "are") in the history."
                : "  The van recorded no point during the cut.")
    }

    // MARK: - Text

    private func introduce(_ link: String) throws {
        try self.say(
            """
            Godwit tracks a simulated van on this machine. Ctrl-C ends everything.
            Open the map, and see the pace of the positions change:

            \(link)

              Messages:  mosquitto_sub -v -p \(self.stage.port) -t 'tracking/#'
              Keys:      \(DemoTale.keys)

            » Nobody watches: the van sends one position every 30 s.
            """)
    }

    /// Prints lines of text above the status bar of the terminal.
    private func say(_ text: String) throws { try Output.print("\r\u{1B}[K\(text)\n") }

    private func drawBar() throws {
        let elapsed = self.elapsed
        let line = self.scene.withLock { scene in
            let pace =
                scene.pace.perMinute(at: elapsed) ?? scene.inForce.map {
                    60 / max($0.resolution.desiredInterval.inSeconds, 1)
                } ?? 0
            let facts = [
                "\(DemoPace.bar(pace)) \(pace.text(digits: pace < 10 ? 1 : 0)) positions/min",
                counted(scene.watchers, "watcher"),
                "battery \(scene.tale.isBatteryLow ? 15 : 80) %", scene.tale.isNetworkUp ? "online" : "offline",
            ]
            return facts.joined(separator: "  ")
        }
        try Output.print("\r\u{1B}[K" + line.prefix(columns: Terminal.size.width - 1))
    }

    // MARK: - Observations

    private func note(_ event: SubscriberEvent) throws {
        switch event {
        case .location(_, let received) where !received.isLate && !received.isRetained:
            let elapsed = self.elapsed
            self.scene.withLock { scene in
                scene.pace.arrived(at: elapsed)
                if let seq = received.update.location.seq { scene.live.insert(seq) }
            }
        case .resolution(_, let inForce?):
            let (change, isOpen, watchers) = self.scene.withLock { scene in
                scene.begin = scene.begin ?? self.elapsed
                let change = scene.changed(to: inForce)
                return (change, scene.isMapOpen, scene.watchers)
            }
            if change.isMapChanged {
                try self.say(
                    isOpen ? "\n» The map is open. It asks for the positions that it shows." : "\n» The map is closed.")
            }
            if change.before?.resolution != inForce.resolution {
                try self.say("  " + Self.sentence(for: inForce, watchers: watchers))
            }
        default:
            break
        }
    }

    /// Returns a sentence for people about the resolution in force: the time between two positions, and the reason for
    /// it.
    private static func sentence(for inForce: ResolutionInForce, watchers: Int) -> String {
        let seconds = inForce.resolution.desiredInterval.inSeconds
        let pace =
            seconds == 1
            ? "one position a second"
            : "one position every \(seconds.text(digits: seconds == seconds.rounded() ? 0 : 1)) s"
        let reasons = [
            watchers == 0 ? "nobody watches" : counted(watchers, "watcher"),
            inForce.isLowBattery ? "battery low" : nil,
        ]
        return "→ \(pace) (\(reasons.compactMap { $0 }.joined(separator: ", ")))"
    }

    // MARK: - Summary

    private func summarize(after elapsed: Duration) async throws {
        self.stage.restoreNetwork()
        let live = self.scene.withLock { $0.live }
        let sent = live.count
        let seconds = Int(elapsed.inSeconds)
        let totals = try await self.stage.totals(live: live, within: Self.patience)
        let saved = seconds == 0 ? 0 : max(0, 100 - 100 * sent / seconds)
        try self.say(
            """

            Summary of \(seconds) s
            \(DemoTotals.lines(for: totals))
              sent live: \(counted(sent, "position")) of \(seconds) at one a second; the resolution saved \(saved) %

            Next, your own phone or van on the map: docs/tutorials/your-first-map.md
            """)
    }
}
