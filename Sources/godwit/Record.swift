import ArgumentParser
import CMalloc
import FoundationEssentials
import GodwitOptions
import Logging
import ServiceLifecycle
import TrackingCore
import TrackingGateway
import TrackingMQTT
import TrackingRecorder
import TrackingStore

/// `godwit record`: stores everything that publishers send into the history, and acknowledges the records that are
/// safely stored.
struct Record: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Record everything: store each record once, and acknowledge records that are safe.",
        usage: "godwit record [<options>]",
        discussion: """
            The recorder receives on one connection, whose session the broker keeps, and acknowledges on another. A \
            device started with --acknowledge-by NAME keeps every record until this recorder has stored it. Exit code \
            66: the history cannot be used. The options below are enough for most recorders; --help-hidden shows all \
            of them.

            Example:
              godwit record --name keeper --store sqlite:history.sqlite
            """)

    @OptionGroup(title: "History") var store: StoreOptions

    @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

    @Option(
        help: ArgumentHelp(
            "Acknowledge records under this name, which devices give with --acknowledge-by. Default: --client-id, else its default, else recorder.",
            valueName: "id"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "Sign in as this user, with the same password, for the connection that receives; for brokers that use the user name as the client id. Default: the same user.",
            valueName: "user"))
    var intakeUser: String?

    @Option(
        help: ArgumentHelp(
            "Sign in with this certificate, PEM, for the connection that receives; for brokers that use its name (CN) as the client id. Default: --cert.",
            valueName: "path", visibility: .hidden))
    var intakeCert: String?

    @Option(help: ArgumentHelp("Use this private key of --intake-cert, PEM.", valueName: "path", visibility: .hidden))
    var intakeKey: String?

    @OptionGroup(title: "Several recorders") var sharing: ShareOptions

    @Option(
        help: ArgumentHelp(
            "Keep points, trips and events in the history this long: 90d or 12h; with van-7=30d those of one trackable. Repeatable, once for each trackable. Default: for ever.",
            valueName: "[id=]time"))
    var keep: [KeepRule] = []

    @Option(
        help: ArgumentHelp(
            "Let the broker send this many messages before the recorder acknowledges one, 1 to 65535. At most 500 are stored together.",
            valueName: "n", visibility: .hidden))
    var receiveMaximum = RecorderConfiguration.receiveMaximum

    @Flag(
        help: ArgumentHelp(
            "Clear the presences, requests and liveness of clients that have been gone for 7 days. Needs the rights of broker/add-recorder --housekeeper.",
            visibility: .hidden))
    var housekeeper = false

    @Option(
        help: ArgumentHelp(
            "Serve /healthz, /readyz and /metrics over HTTP at this address; port 0 chooses a free port. Default: do not serve them.",
            valueName: "host:port"))
    var listen: ListenAddress?

    func validate() throws {
        guard (1...65_535).contains(self.receiveMaximum) else {
            throw ValidationError("--receive-maximum must be 1 to 65535, not \(self.receiveMaximum)")
        }
        guard Set(self.keep.map(\.trackable)).count == self.keep.count else {
            throw ValidationError(
                "--keep is given twice for the same trackable, or twice without a trackable. Give it once for each trackable, and once for all others"
            )
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
            throw TrackingError(
                .invalidConfiguration, "one of --intake-cert and --intake-key is missing. Give both, or neither")
        }
        let names = try self.names()
        let group = try self.sharing.group()
        try self.sharing.check(try self.store.location())
        let health = RecorderHealth(listen: self.listen)
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment)
        notifier?.ready()
        let store = try await self.openStore(notifier)
        // The lock is held until the program ends. Until then a gateway with the same history does not record.
        let lock = try self.lock()
        defer { withExtendedLifetime(lock) {} }
        let configuration = try self.configuration(names.voice, group)
        let ending = Ending()
        let watch = RecorderWatch(
            health: health, notifier: notifier, failsFast: self.broker.failFast,
            greeting: "recording as '\(names.voice)' in \(try self.store.location().name)\n", ending: ending)
        if let lease = try self.lease(for: configuration), let history = store as? PostgresHistoryStore {
            // Errors of the configuration are reported at once, not at the takeover.
            _ = try self.transports(configuration, names.intake)
            let standby = StandbyRecorder(lease: lease, store: history, watch: watch) {
                try await self.recorder(configuration, names.intake, history)
            }
            do { try await Program.run(standby, beside: health.server(store)) } catch { ending.note(error) }
            notifier?.stopping()
        } else {
            let recorder = try await self.recorder(configuration, names.intake, store)
            await self.run(recorder, watch, beside: health.server(store))
        }
        do { try await store.close() } catch { ending.note(error) }
        if let error = ending.error { throw error }
    }

    /// Runs a recorder until it ends or the program is asked to end.
    private func run(_ recorder: Recorder<MQTTTransport>, _ watch: RecorderWatch, beside health: HealthServer?) async {
        let events = recorder.events
        async let watching: Void = watch.run(recorder, events)
        do {
            try await Program.run(recorder, beside: health)
        } catch {
            watch.ending.note(error)
            recorder.finish()
        }
        await watching
        watch.notifier?.stopping()
    }

    private func configuration(
        _ name: ClientID, _ group: RecorderGroup?
    ) throws(TrackingError) -> RecorderConfiguration {
        var configuration = RecorderConfiguration(client: name, session: try self.broker.identity().session)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.group = group
        configuration.window = min(self.receiveMaximum, RecorderConfiguration.largestPage)
        if self.housekeeper { configuration.clearsAfter = RecorderConfiguration.housekeeping }
        for rule in self.keep {
            if let id = rule.trackable { configuration.keepOf[id] = rule.time } else { configuration.keep = rule.time }
        }
        return configuration
    }

    /// Makes a recorder that is not running yet, with new connections and a new session id.
    private func recorder(
        _ configuration: RecorderConfiguration, _ intake: ClientID, _ store: any HistoryStore
    ) async throws(TrackingError) -> Recorder<MQTTTransport> {
        var configuration = configuration
        configuration.session = try self.broker.identity().session
        configuration.isFirstRun = try await store.trackables(after: nil, limit: 1).isEmpty
        let transports = try self.transports(configuration, intake)
        return Recorder(
            configuration: configuration, store: store, intake: transports.intake, voice: transports.voice)
    }

    /// Makes the two connections of a recorder, which connect to the broker once the recorder runs.
    private func transports(
        _ configuration: RecorderConfiguration, _ intake: ClientID
    ) throws(TrackingError) -> (intake: MQTTTransport, voice: MQTTTransport) {
        let remedy = self.sharedUserRemedy(intake)
        return (
            try self.broker.intake(
                intake, receiveMaximum: self.receiveMaximum, user: self.intakeUser, certificate: self.intakeCert,
                key: self.intakeKey, remedy: remedy),
            try self.broker.transport(for: configuration, remedy: remedy)
        )
    }

    /// Returns the lease that decides which of several recorders of this name is active; `nil` without `--standby`.
    private func lease(for configuration: RecorderConfiguration) throws(TrackingError) -> RecorderLease? {
        guard self.sharing.standby, case .postgres(let address) = try self.store.location() else { return nil }
        return RecorderLease(address: address, name: configuration.client, owner: configuration.session)
    }

    /// Limits the freed memory that the C library keeps for later use to 1 MB, and returns more to the system at once,
    /// for example after a large batch was stored. By default, glibc keeps up to 64 MB (mallopt(3),
    /// `M_MMAP_THRESHOLD`).
    private static func returnFreedMemory() {
        mallopt(M_TRIM_THRESHOLD, 1_048_576)
    }

    /// Opens the history for recording. If the database server cannot be reached or another program writes the file,
    /// tries again until it succeeds; with `--fail-fast`, throws the error.
    private func openStore(_ notifier: ServiceNotifier?) async throws -> any HistoryStore {
        var backoff = Backoff(
            first: RecorderConfiguration.firstStoreWait, maximum: RecorderConfiguration.longestStoreWait)
        while true {
            do throws(TrackingError) {
                return try await self.store.open(mayMake: true)
            } catch {
                guard !self.broker.failFast, try self.passes(error) else { throw error }
                let wait = backoff.next()
                Logger(label: "godwit.recorder").error(
                    "Recorder could not open the history to store records: it stores nothing until it succeeds, and tries again. Follow the reason",
                    metadata: ["reason": "\(error)", "retry in": "\(wait)"])
                notifier?.status("the history cannot be used: \(error.message)")
                try await Task.sleep(for: wait)
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

    /// Returns advice for the case that the recorder's two connections end each other because they share one user at
    /// the broker. `nil` if the receiving connection has a user of its own.
    private func sharedUserRemedy(_ intake: ClientID) -> String? {
        guard self.intakeUser == nil, self.intakeCert == nil else { return nil }
        let option =
            self.broker.certificate == nil
            ? "--intake-user \(intake)" : "--intake-cert and --intake-key of the user \(intake)"
        return self.broker.sharedUserRemedy("\(option) (broker/add-recorder makes that user)")
    }

    /// Returns the client ids of the recorder's two connections.
    ///
    /// - Returns: `voice`, the recorder's name, for the connection that sends acknowledgements. `intake` for the
    ///   connection that receives records: the user or the certificate name given for it, otherwise the recorder's name
    ///   with `-intake`.
    /// - Throws: `invalidConfiguration` if both client ids would be the same.
    private func names() throws(TrackingError) -> (voice: ClientID, intake: ClientID) {
        let own = try self.broker.identity()
        var voice = own.isRandom ? try ClientID("recorder") : own.client
        if let name = self.name { voice = try ClientID(name) }
        let certified = self.intakeCert.flatMap { MQTTConfiguration.TLS.commonName(ofCertificate: $0) }
        let intake = try ClientID(self.intakeUser ?? certified ?? "\(voice)-intake")
        guard intake != voice else {
            throw TrackingError(
                .invalidConfiguration,
                "the connection that receives would have the same client id as the recorder, '\(voice)'. Give another --intake-user or --name"
            )
        }
        return (voice, intake)
    }
}

/// A rule of `--keep` for the time that records remain in the history. The time is written as `90d`, `12h`, `30m` or
/// `45s`. The rule applies to all trackables, or to one if `ID=` precedes the time.
struct KeepRule: ExpressibleByArgument, Hashable {
    /// The trackable to which this rule of `--keep` applies. `nil` means that it applies to all trackables without a
    /// rule of their own.
    let trackable: TrackableID?
    let time: Duration

    init?(argument: String) {
        let units: [Character: Double] = ["d": 86_400, "h": 3600, "m": 60, "s": 1]
        // An id may contain "=", a time cannot.
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
