import ArgumentParser
import CMalloc
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
import TrackingRecorder
import TrackingStore

/// `godwit record`: stores what publishers tell, and acknowledges what is durable.
struct Record: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Record everything: store each point once, and acknowledge what is durable.",
        discussion: """
            It takes in on one connection, whose session the broker keeps, and acknowledges on another. Devices that run with \
            --acknowledge-by NAME keep everything until this recorder has it. Ends with 66 where the history cannot be used.
            """)

    @OptionGroup var store: StoreOptions

    @OptionGroup var broker: BrokerOptions

    @Option(
        help: ArgumentHelp(
            "This recorder's name, which devices wait for: its client id. Default: --client-id, or what that defaults to, or recorder.",
            valueName: "id"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "The user of the connection that takes in, with the same password; where the broker makes the user name the client id. Default: the same user.",
            valueName: "user"))
    var intakeUser: String?

    @Option(
        help: ArgumentHelp(
            "The certificate of the connection that takes in, PEM; where the broker makes its name (CN) the client id. Default: --cert.",
            valueName: "path"))
    var intakeCert: String?

    @Option(help: ArgumentHelp("The key of --intake-cert, PEM.", valueName: "path"))
    var intakeKey: String?

    @OptionGroup var sharing: ShareOptions

    @Option(
        help: ArgumentHelp(
            "Keep points, trips and events for so long, as 90d or 12h, or those of one trackable, as van-7=30d; once a trackable.",
            valueName: "[id=]time"))
    var keep: [KeepRule] = []

    @Option(
        help: ArgumentHelp(
            "How many messages the broker has under way at once, 1 to 65535; so many are stored together.",
            valueName: "n"))
    var receiveMaximum = 500

    @Flag(
        help:
            "Clear the presences, requests and liveness of clients that were not heard for 7 days. It takes the rights of broker/add-recorder --housekeeper."
    )
    var housekeeper = false

    @Option(
        help: ArgumentHelp(
            "Serve /healthz, /readyz and /metrics at this address; port 0 takes a free one. Default: not at all.",
            valueName: "host:port"))
    var listen: ListenAddress?

    func validate() throws {
        guard (1...65_535).contains(self.receiveMaximum) else {
            throw ValidationError("--receive-maximum must be 1 to 65535, not \(self.receiveMaximum)")
        }
        guard Set(self.keep.map(\.trackable)).count == self.keep.count else {
            throw ValidationError("--keep is given once for each trackable, and once for all others")
        }
        do throws(TrackingError) {
            for name in [self.name, self.intakeUser] { if let name { _ = try ClientID(name) } }
        } catch {
            throw ValidationError(error.message)
        }
    }

    func run() async throws {
        Self.returnFreedMemory()
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        guard (self.intakeCert == nil) == (self.intakeKey == nil) else {
            throw TrackingError(.invalidConfiguration, "--intake-cert and --intake-key are given together")
        }
        let names = try self.names()
        let group = try self.sharing.group()
        if group != nil, case .sqlite = try self.store.location() {
            throw TrackingError(
                .invalidConfiguration, "--share takes a history that recorders share: --store postgres://…")
        }
        let health = Health(listen: self.listen)
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment)
        notifier?.ready()
        let store = try await self.openStore(notifier)
        // As long as this program runs, a gateway on the same file does not record.
        let lock = try self.lock()
        defer { withExtendedLifetime(lock) {} }
        var configuration = RecorderConfiguration(client: names.voice, session: try self.broker.identity().session)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.group = group
        configuration.window = self.receiveMaximum
        if self.housekeeper { configuration.clearsAfter = RecorderConfiguration.housekeeping }
        for rule in self.keep {
            if let id = rule.trackable { configuration.keepOf[id] = rule.time } else { configuration.keep = rule.time }
        }
        configuration.isFirstRun = try await store.trackables(after: nil, limit: 1).isEmpty
        let remedy = self.sharedUserRemedy(names.intake)
        let recorder = Recorder(
            configuration: configuration, store: store,
            intake: try self.broker.intake(
                names.intake, receiveMaximum: self.receiveMaximum, user: self.intakeUser, certificate: self.intakeCert,
                key: self.intakeKey, remedy: remedy),
            voice: try self.broker.transport(for: configuration, remedy: remedy))
        let ending = Ending()
        let events = recorder.events
        let failsFast = self.broker.failFast
        async let watching: Void = Self.watch(recorder, events, health, notifier, failsFast: failsFast, ending)
        do {
            try await Program.run(recorder, beside: health.server(store))
        } catch {
            ending.note(error)
            recorder.finish()
        }
        await watching
        do { try await store.close() } catch { ending.note(error) }
        if let error = ending.error { throw error }
    }

    /// What large batches took goes back as soon as they are stored: by itself glibc comes to keep up to 64 MB of what was freed,
    /// as blocks of a size that was freed before are no longer mapped apart (mallopt(3), `M_MMAP_THRESHOLD`).
    private static func returnFreedMemory() {
        mallopt(M_TRIM_THRESHOLD, 1_048_576)
    }

    /// Opens the history. A server that is away is waited for, as while recording, and so is who writes the file, unless that is to
    /// end at once.
    private func openStore(_ notifier: ServiceNotifier?) async throws -> any HistoryStore {
        var wait = RecorderConfiguration.firstStoreWait
        while true {
            do throws(TrackingError) {
                return try await self.store.open(mayMake: true)
            } catch {
                guard !self.broker.failFast, try self.passes(error) else { throw error }
                Logger(label: "godwit.recorder").error(
                    "the store takes nothing", metadata: ["reason": "\(error)", "retry in": "\(wait)"])
                notifier?.status("the store takes nothing: \(error.message)")
                try await Task.sleep(for: wait)
                wait = min(RecorderConfiguration.longestStoreWait, wait * 2)
            }
        }
    }

    private func lock() throws(TrackingError) -> RecorderLock? {
        guard case .sqlite(let path) = try self.store.location() else { return nil }
        return RecorderLock(history: path)
    }

    private func passes(_ error: TrackingError) throws(TrackingError) -> Bool {
        switch try self.store.location() {
        case .sqlite: error.code == .storeBusy
        case .postgres: error.code == .storeFailed
        }
    }

    /// The remedy where both connections have the same user; `nil` where each has its own.
    private func sharedUserRemedy(_ intake: ClientID) -> String? {
        guard self.intakeUser == nil, self.intakeCert == nil else { return nil }
        let option =
            self.broker.certificate == nil
            ? "--intake-user \(intake)" : "--intake-cert and --intake-key of the user \(intake)"
        return self.broker.sharedUserRemedy("\(option) (broker/add-recorder makes that user)")
    }

    /// The names of the two connections: the recorder's, and that of the user or the certificate that takes in, or else the
    /// same with `-intake` behind it.
    private func names() throws(TrackingError) -> (voice: ClientID, intake: ClientID) {
        let own = try self.broker.identity()
        var voice = own.isRandom ? try ClientID("recorder") : own.client
        if let name = self.name { voice = try ClientID(name) }
        let certified = self.intakeCert.flatMap { MQTTConfiguration.TLS.commonName(ofCertificate: $0) }
        let intake = try ClientID(self.intakeUser ?? certified ?? "\(voice)-intake")
        guard intake != voice else {
            throw TrackingError(
                .invalidConfiguration, "the connection that takes in has the recorder's name; it needs one of its own")
        }
        return (voice, intake)
    }

    /// Tells the service manager how it goes, and ends where that was asked for.
    private static func watch(
        _ recorder: Recorder<MQTTTransport>, _ events: AsyncStream<RecorderEvent>, _ health: Health,
        _ notifier: ServiceNotifier?, failsFast: Bool, _ ending: Ending
    ) async {
        for await event in events {
            health.happened(event)
            switch event {
            case .connected: notifier?.status("recording")
            case .storeAway(let error, _): notifier?.status("the store takes nothing: \(error.message)")
            case .storeBack: notifier?.status("recording")
            case .disconnected(let lost), .voice(.some(let lost)):
                guard lost.retry != nil else { continue }
                notifier?.status("not connected: \(lost.reason?.message ?? "")")
                guard failsFast, let reason = lost.failure else { continue }
                ending.note(reason)
                recorder.finish()
            case .possibleGap, .voice(nil), .subscriptionRefused, .acknowledgementRefused, .brokerDropped,
                .storeRefuses, .cleared, .clearingRefused, .failed:
                break
            }
        }
        notifier?.stopping()
    }
}

/// For how long is kept: a time as `90d`, `12h`, `30m` or `45s`, of everything or, with `ID=` before it, of one trackable.
struct KeepRule: ExpressibleByArgument, Hashable {
    /// Of which; `nil` for all that no other rule names.
    let trackable: TrackableID?
    let time: Duration

    init?(argument: String) {
        let units: [Character: Double] = ["d": 86_400, "h": 3600, "m": 60, "s": 1]
        // An id may have the sign in it, a time does not.
        let sign = argument.lastIndex(of: "=")
        let text = sign.map { argument[argument.index(after: $0)...] } ?? argument[...]
        guard let last = text.last, let unit = units[last], let count = Double(text.dropLast()), count > 0,
            count * unit <= 3.2e9
        else { return nil }
        self.time = .seconds(count * unit)
        guard let sign else {
            self.trackable = nil
            return
        }
        guard let id = try? TrackableID(String(argument[..<sign])) else { return nil }
        self.trackable = id
    }
}

/// What a recorder answers an operator, where it is to.
private final class Health: Sendable {
    private let listen: ListenAddress?
    private let metrics = PrometheusRegistry(helps: RecorderFigures.helps)
    private let state = Mutex(State())

    private struct State {
        var isConnected = false
        var isStoreAway = false
        var lastDrop: ContinuousClock.Instant?
    }

    /// The time for which a dropped message counts.
    private static let dropMemory = Duration.seconds(600)

    /// Has everything counted from now on, where somebody can ask.
    init(listen: ListenAddress?) {
        self.listen = listen
        if listen != nil { MetricsSystem.bootstrap(self.metrics) }
    }

    /// Takes note of what the recorder told.
    func happened(_ event: RecorderEvent) {
        self.state.withLock { state in
            switch event {
            case .connected: state.isConnected = true
            case .disconnected: state.isConnected = false
            case .storeAway: state.isStoreAway = true
            case .storeBack: state.isStoreAway = false
            case .brokerDropped: state.lastDrop = .now
            default: break
            }
        }
    }

    private func brokerReason() -> String? {
        self.state.withLock { $0.isConnected } ? nil : "the connection that takes in is not connected to the broker"
    }

    private func queuesReason() -> String? {
        guard let last = self.state.withLock({ $0.lastDrop }), last.duration(to: .now) < Self.dropMemory else {
            return nil
        }
        return "the broker dropped messages: its queues are too short, or a client with a kept session is away"
    }

    private func historyReason(_ store: any HistoryStore) async -> String? {
        if self.state.withLock({ $0.isStoreAway }) {
            return "the history stores nothing: the log of the recorder has the reason"
        }
        let isReadable = (try? await store.trackables(after: nil, limit: 1)) != nil
        return isReadable ? nil : "the history cannot be read"
    }

    /// The server; `nil` where none was asked for.
    func server(_ store: any HistoryStore) -> HealthServer? {
        guard let listen = self.listen else { return nil }
        return HealthServer(
            host: listen.host, port: listen.port,
            checks: [
                "broker": { self.brokerReason() }, "queues": { self.queuesReason() },
                "history": { await self.historyReason(store) },
            ], metrics: self.metrics
        ) { port in
            Program.note("listening on http://\(ListenAddress(host: listen.host, port: port))\n")
        }
    }
}
