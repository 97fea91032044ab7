import GodwitOptions
import Logging
import ServiceLifecycle
import Synchronization
import TrackingCore
import TrackingMQTT
import TrackingRoads
import TrackingRuntime
import TrackingSubscriber
import TrackingTesting

/// `godwit demo --roads`: a van drives past three stops, and an enhancer publishes its positions on the road and its
/// arrival times.
///
/// On a terminal, a gateway shows the streets, and the status bar has the road and the next arrival. Elsewhere, each
/// change of them is a line.
final class DemoRoadsShow: Service {
    /// The form of the demo.
    enum Form { case story, lines, script }

    private let stage: DemoStage
    private let form: Form
    private let duration: Double?
    private let engine: any RoadEngine
    private let town: SyntheticRoads?
    private let route: Route
    private let journey: Journey
    private let id: TrackableID
    private let scene: Mutex<Scene>
    private let succeeded = Mutex(false)
    /// The time that the agent needs about until it delivers the first fix of the recording.
    private static let agentStart = Duration.seconds(2)
    /// The time between two updates of the status bar at the bottom of the terminal.
    private static let frame = Duration.milliseconds(200)

    private struct Scene {
        var seen: DemoRoadsObservations
        var line = ""
        var isEnhancing = false
    }

    /// Plans the drive, for which the routing engine finds the route.
    ///
    /// - Parameters:
    ///   - given: The routing engine; `nil` for the generated town.
    ///   - centre: The place around which the van drives; `nil` for the middle of the town.
    /// - Throws: `engineUnavailable` if the engine does not answer; `noRoad` if it knows no roads around the place.
    init(
        stage: DemoStage, form: Form, duration: Double?, engine given: (any RoadEngine)?, around centre: Coordinate?
    ) async throws {
        let town = given == nil ? SyntheticRoads() : nil
        let engine: any RoadEngine = given ?? SyntheticRoads()
        let plan = DemoRoadsPlan(around: centre ?? DemoRoadsPlan.townCentre)
        self.route = try await Self.route(plan, engine)
        self.journey = DemoRoadsPlan.journey(along: self.route)
        (self.stage, self.form, self.duration, self.engine, self.town) = (stage, form, duration, engine, town)
        self.id = try TrackableID(DemoStage.trackable)
        self.scene = Mutex(Scene(seen: DemoRoadsObservations(self.journey, in: town)))
    }

    private static func route(_ plan: DemoRoadsPlan, _ engine: any RoadEngine) async throws(TrackingError) -> Route {
        do throws(TrackingError) {
            return try await engine.route(plan.request)
        } catch {
            guard error.code == .noRoad else { throw error }
            throw TrackingError(
                .noRoad,
                "cannot plan the demo's drive: \(error.message). Name a place with --at that has roads within 1 km and is in the region of the engine's map"
            )
        }
    }

    /// `true` once the effect of every step of the demo was observed.
    var hasSucceeded: Bool { self.succeeded.withLock { $0 } }

    /// Runs the demo until its end.
    ///
    /// - Throws: `inputUnreadable` if a program does not start.
    func run() async throws {
        try await cancelWhenGracefulShutdown {
            if self.form == .story { try await self.introduce(self.startGateway()) }
            let terminal = self.form == .story ? Terminal(Output()) : nil
            defer { terminal?.restore() }
            let enhancer = try self.makeEnhancer()
            let watcher = try self.stage.subscriber("demo-watcher", isSilent: false, wantsJourneys: true)
            let (news, updates) = (enhancer.events, watcher.events)
            watcher.watch(
                self.id,
                requesting: try Resolution(accuracy: .high, desiredInterval: .seconds(1), minimumDisplacement: 0),
                preferring: .enhanced)
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await enhancer.run() }
                group.addTask { try await watcher.run() }
                group.addTask { for await event in news { try self.note(event) } }
                group.addTask { for await event in updates { try self.note(event) } }
                group.addTask {
                    try await self.runSteps()
                    throw CancellationError()
                }
                if let terminal { group.addTask { try await self.draw(on: terminal) } }
                if let duration = self.duration {
                    group.addTask {
                        try await Task.sleep(for: .seconds(duration))
                        throw CancellationError()
                    }
                }
                do { while try await group.next() != nil {} } catch is CancellationError {}
            }
        }
    }

    // MARK: - Parts

    private func startGateway() async throws -> String {
        if let town = self.town { return try await self.stage.startGateway(showing: self.stage.writeTiles(of: town)) }
        guard let engine = self.engine as? ValhallaEngine else { return try await self.stage.startGateway() }
        return try await self.stage.startGateway(showing: ["--engine", "valhalla:\(engine.url)"])
    }

    private func makeEnhancer() throws -> Enhancer<MQTTTransport> {
        var generator = SystemRandomNumberGenerator()
        var configuration = EnhancerConfiguration(
            client: try ClientID("demo-enhancer"), session: .random(using: &generator))
        // The agent counts a slow van as cycling.
        configuration.profile = .auto
        let connection = MQTTConfiguration(endpoints: [self.stage.endpoint], for: configuration)
        // The demo itself reports what happens.
        let silent = Logger(label: "godwit.demo") { _ in SwiftLogNoOpLogHandler() }
        return Enhancer(
            configuration: configuration, engine: self.engine,
            transport: try MQTTTransport(configuration: connection), logger: silent)
    }

    // MARK: - Steps

    private func runSteps() async throws {
        try self.introduce()
        _ = await self.stage.changes.wait { self.scene.withLock { $0.isEnhancing } }
        let begin = TimeText.now.advanced(by: Self.agentStart)
        try self.stage.startAgent(replaying: DemoRoadsDrive(along: self.route, begin: begin))
        try await JourneyTopics(client: self.stage.client("demo-operator"), root: .standard)
            .publish(try MessageCodec.encode(self.journey), of: self.id)
        var happened = try await self.chapter(
            "The van drives. The enhancer puts each position on the road.", within: 60
        ) { $0.isOnRoad }
        happened =
            try await self.chapter(
                "The journey has \(self.journey.stops.count) stops. The enhancer estimates the arrival at each.",
                within: 60
            ) { $0.promise != nil } && happened
        happened = try await self.arriveAtFirstStop() && happened
        self.succeeded.withLock { $0 = happened }
        try self.say(
            happened
                ? "Every step happened."
                : "The effect of a step was not observed as described. See the step marked ✗ above.")
        if self.form == .script { return }
        try self.say("The van continues to the other stops. Ctrl-C ends the demo.")
        _ = await self.stage.changes.wait { self.scene.withLock { $0.seen.isComplete } }
        try self.say("\nThe van has visited all stops.")
        try await Task.sleep(for: .seconds(1e6))
    }

    private func arriveAtFirstStop() async throws -> Bool {
        let name = self.journey.stops.first?.name ?? "the first stop"
        // The engine's travel time may be longer with a real map.
        let seconds = Int((self.route.legs.first?.duration.inSeconds ?? 0) * 1.5) + 60
        return try await self.chapter("The van arrives at \(name) within the estimated band.", within: seconds) {
            $0.hasArrived && $0.isPromiseKept && $0.greatestOffset <= DemoRoadsObservations.tolerance
        }
    }

    /// Announces a step of the demo, and waits until its effect is observed. Returns `false` if it is not observed
    /// within `seconds`.
    private func chapter(
        _ title: String, within seconds: Int, _ isSeen: @Sendable (DemoRoadsObservations) -> Bool
    ) async throws -> Bool {
        try self.say("\n» " + title)
        let deadline = DeviceClock.now.advanced(by: .seconds(seconds))
        let isObserved = await self.stage.changes.wait(until: deadline) { isSeen(self.scene.withLock { $0.seen }) }
        try Task.checkCancellation()
        try self.say(isObserved ? "  ✓ observed" : "  ✗ not observed within \(seconds) s")
        return isObserved
    }

    /// Draws the status bar until the key `q` is pressed.
    private func draw(on terminal: Terminal) async throws {
        while !terminal.keys.contains("q") {
            let line = self.scene.withLock { $0.line }
            try Output.print("\r\u{1B}[K" + line.prefix(columns: Terminal.size.width - 1))
            await terminal.wait(for: Self.frame)
            try Task.checkCancellation()
        }
        try self.say("")
        throw CancellationError()
    }

    // MARK: - Observations

    private func note(_ event: EnhancerEvent) throws {
        switch event {
        case .connected:
            self.scene.withLock { $0.isEnhancing = true }
            self.stage.changes.notify()
        case .engineAway(let error, _): try self.say("  The routing engine is away: \(error.message)")
        case .engineBack: try self.say("  The routing engine answers again.")
        default: break
        }
    }

    private func note(_ event: SubscriberEvent) throws {
        switch event {
        case .location(_, let received): try self.change { $0.located(received.update) }
        case .estimate(_, let estimate?): try self.note(estimate)
        default: break
        }
    }

    private func note(_ estimate: Estimate) throws {
        let now = TimeText.now
        for stop in try self.change({ $0.estimated(estimate) }) {
            let time = JourneyTable.clock(self.scene.withLock { $0.seen.arrival(at: stop) }, now: now)
            try self.say("  The van arrived at \(stop.name ?? stop.id) \(time).")
        }
    }

    /// Changes the observations, and prints the road and the next arrival if they differ from the last line.
    private func change<Value: Sendable>(_ body: (inout DemoRoadsObservations) -> Value) throws -> Value {
        defer { self.stage.changes.notify() }
        let (value, line, isNew) = self.scene.withLock { scene in
            let value = body(&scene.seen)
            let line = scene.seen.line(now: TimeText.now)
            defer { scene.line = line }
            return (value, line, line != scene.line)
        }
        if isNew, self.form != .story { try self.say("  · " + line) }
        return value
    }

    // MARK: - Text

    private func introduce(_ link: String) throws {
        try self.say(
            """
            Open the map, and see the van on its road:

            \(link)

              q ends the demo.

            """)
    }

    private func introduce() throws {
        let town = self.town == nil ? "the roads of the engine's map" : "a generated town"
        try self.say(
            """
            A private broker runs at \(self.stage.address). A van will drive past three stops on \(town).
            Its receiver is wrong by about 5 m.
            See all messages:  mosquitto_sub -v -p \(self.stage.port) -t 'tracking/#'
            """)
    }

    /// Prints lines of text, on a terminal above the status bar.
    private func say(_ text: String) throws {
        try Output.print((self.form == .story ? "\r\u{1B}[K" : "") + text + "\n")
    }
}
