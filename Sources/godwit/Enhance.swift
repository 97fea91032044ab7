import ArgumentParser
import enum CoreMetrics.MetricsSystem
import FoundationEssentials
import GodwitOptions
import Logging
import ServiceLifecycle
import Synchronization
import TrackingCore
import TrackingGateway
import TrackingMQTT
import TrackingMetrics
import TrackingRoads

/// `godwit enhance`: lets a routing engine match the positions of trackables with roads, and publishes the positions on
/// the road.
struct Enhance: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Publish positions on the road, which a routing engine finds.",
        usage: "godwit enhance --engine <address> [<options>]",
        discussion: """
            The enhancer reads the position of every trackable, lets the routing engine match it with a road, and \
            publishes the result beside it. While the engine is away, the enhancer publishes the positions as the \
            devices send them. scripts/roads installs and starts the engine.

            Example:
              godwit enhance --engine valhalla:http://127.0.0.1:8002
            """)

    @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

    @Option(
        help: ArgumentHelp(
            "Use this routing engine: valhalla:http://HOST:PORT.", valueName: "address"))
    var engine: EngineAddress

    @Option(
        help: ArgumentHelp(
            "Match positions with the roads for auto, bicycle, pedestrian, bus or truck; with van-7=truck those of one trackable. Repeatable, once for each trackable. Default: by the motion that each device reports, otherwise auto.",
            valueName: "[id=]profile"))
    var profile: [ProfileRule] = []

    @Option(
        help: ArgumentHelp(
            "Enhance the positions of this trackable, and of no others. Repeatable. Default: all trackables.",
            valueName: "id"))
    var only: [String] = []

    @Option(help: ArgumentHelp("Do not enhance the positions of this trackable. Repeatable.", valueName: "id"))
    var except: [String] = []

    @Option(
        help: ArgumentHelp(
            "Divide the trackables among all enhancers of this group. Give each of them a client id of its own, and otherwise the same options. Default: serve all trackables.",
            valueName: "name"))
    var group: String?

    @Option(
        help: ArgumentHelp(
            "Serve /healthz, /readyz and /metrics over HTTP at this address; port 0 chooses a free port. Default: do not serve them.",
            valueName: "host:port"))
    var listen: ListenAddress?

    func validate() throws {
        guard Set(self.profile.map(\.trackable)).count == self.profile.count else {
            throw ValidationError(
                "--profile is given twice for the same trackable, or twice without a trackable. Give it once for each trackable, and once for all others"
            )
        }
        do throws(TrackingError) {
            for id in self.only + self.except { _ = try TrackableID(id) }
            if let group = self.group { _ = try ClientID(group) }
        } catch {
            throw ValidationError(error.message)
        }
    }

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        let configuration = try self.enhancerConfiguration()
        // The enhancer's tasks run on the thread of the broker's connection, so its requests do as well.
        let engine = try ValhallaEngine(url: self.engine.url, on: MQTTEventLoop.shared)
        let health = EnhancerHealth(listen: self.listen)
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment)
        let enhancer = Enhancer(
            configuration: configuration, engine: engine,
            transport: try self.broker.transport(for: configuration))
        let ending = Ending()
        let events = enhancer.events
        let failsFast = self.broker.failFast
        notifier?.ready()
        async let watching: Void = Self.watch(
            enhancer, events, health, notifier, failsFast: failsFast,
            greeting: "enhancing as '\(configuration.client)' with \(self.engine)\n", ending)
        do {
            try await Program.run(enhancer, beside: health.server())
        } catch {
            ending.note(error)
            enhancer.finish()
        }
        await watching
        if let error = ending.error { throw error }
    }

    private func enhancerConfiguration() throws(TrackingError) -> EnhancerConfiguration {
        let identity = try self.broker.identity()
        let client = identity.isRandom && self.group == nil ? try ClientID("enhancer") : identity.client
        var configuration = EnhancerConfiguration(client: client, session: identity.session)
        configuration.isClientRandom = identity.isRandom && self.group != nil
        configuration.group = try self.group.map { (name) throws(TrackingError) in try ClientID(name) }
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        for rule in self.profile {
            if let id = rule.trackable {
                configuration.profiles[id] = rule.profile
            } else {
                configuration.profile = rule.profile
            }
        }
        for id in self.only { configuration.only.insert(try TrackableID(id)) }
        for id in self.except { configuration.except.insert(try TrackableID(id)) }
        return configuration
    }

    /// Reports the enhancer's state to the service manager and to the health checks, until the enhancer ends. Prints the
    /// greeting once the enhancer receives positions from the broker. With `--fail-fast`, ends the enhancer when the
    /// broker cannot be reached.
    private static func watch(
        _ enhancer: Enhancer<MQTTTransport>, _ events: AsyncStream<EnhancerEvent>, _ health: EnhancerHealth,
        _ notifier: ServiceNotifier?, failsFast: Bool, greeting: String, _ ending: Ending
    ) async {
        var greeting: String? = greeting
        for await event in events {
            health.happened(event)
            switch event {
            case .connected:
                greeting.take().map { Program.note($0) }
                notifier?.status("enhancing")
            case .engineAway(let error, _): notifier?.status("the routing engine is away: \(error.message)")
            case .engineBack: notifier?.status("enhancing")
            case .disconnected(let lost):
                guard lost.retry != nil, !lost.isRenewal else { continue }
                notifier?.status("not connected to the broker: \(lost.reason?.message ?? "")")
                guard failsFast, let reason = lost.failure else { continue }
                ending.note(reason)
                enhancer.finish()
            case .subscriptionRefused, .publishRefused, .badMessage, .groupChanged, .failed: break
            }
        }
        notifier?.stopping()
    }
}

/// The address of a routing engine with its kind, such as `valhalla:http://127.0.0.1:8002`.
struct EngineAddress: Hashable, ExpressibleByArgument, CustomStringConvertible {
    /// The HTTP address of the engine.
    let url: String

    var description: String { "valhalla:\(self.url)" }

    init?(argument: String) {
        let kind = "valhalla:"
        guard argument.hasPrefix(kind) else { return nil }
        self.url = String(argument.dropFirst(kind.count))
        guard ValhallaEngine.isAddress(self.url) else { return nil }
    }
}

/// A rule of `--profile` for the means of travel of all trackables, or of one if `ID=` precedes the profile.
struct ProfileRule: ExpressibleByArgument, Hashable {
    /// The trackable to which this rule of `--profile` applies. `nil` means that it applies to all trackables without a
    /// rule of their own.
    let trackable: TrackableID?
    let profile: TravelProfile

    static var allValueStrings: [String] { TravelProfile.allCases.map(\.rawValue) }

    init?(argument: String) {
        // An id may contain "=", a profile cannot.
        let sign = argument.lastIndex(of: "=")
        let text = sign.map { String(argument[argument.index(after: $0)...]) } ?? argument
        guard let profile = TravelProfile(rawValue: text) else { return nil }
        self.profile = profile
        guard let sign else {
            self.trackable = nil
            return
        }
        guard let id = try? TrackableID(String(argument[..<sign])) else { return nil }
        self.trackable = id
    }
}

/// Answers the HTTP health checks of an enhancer that runs with `--listen`.
private final class EnhancerHealth: Sendable {
    private struct State {
        var isConnected = false
        var isEngineAway = false
    }

    private let listen: ListenAddress?
    private let metrics = PrometheusRegistry(helps: EnhancerHelps.all)
    private let state = Mutex(State())

    /// Creates the health checks of an enhancer. With an address in `listen`, the program also counts metrics from now
    /// on.
    init(listen: ListenAddress?) {
        self.listen = listen
        if listen != nil { MetricsSystem.bootstrap(self.metrics) }
    }

    /// Handles an event of the enhancer, which may change the answers of the health checks.
    func happened(_ event: EnhancerEvent) {
        self.state.withLock { state in
            switch event {
            case .connected: state.isConnected = true
            // After a renewal of its credentials, the enhancer connects again at once.
            case .disconnected(let lost): state.isConnected = state.isConnected && lost.isRenewal
            case .engineAway: state.isEngineAway = true
            case .engineBack: state.isEngineAway = false
            case .subscriptionRefused, .publishRefused, .badMessage, .groupChanged, .failed: break
            }
        }
    }

    /// Returns the HTTP server that serves the enhancer's health checks and metrics; `nil` without `--listen`.
    func server() -> HealthServer? {
        guard let listen = self.listen else { return nil }
        return HealthServer(
            host: listen.host, port: listen.port,
            checks: [
                "broker": {
                    self.state.withLock { $0.isConnected ? nil : "the enhancer is not connected to the broker" }
                },
                "engine": { self.state.withLock { $0.isEngineAway ? "the routing engine does not answer" : nil } },
            ], metrics: self.metrics
        ) { port in
            Program.note("listening on http://\(ListenAddress(host: listen.host, port: port))\n")
        }
    }
}
