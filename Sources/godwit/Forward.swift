import ArgumentParser
import enum CoreMetrics.MetricsSystem
import FoundationEssentials
import GodwitOptions
import Logging
import ServiceLifecycle
import TrackingCore
import TrackingForwarding
import TrackingGateway
import TrackingMetrics
import TrackingSinks
import TrackingStore

/// `godwit forward`: sends the recorded points of a history to other servers, and repeats each point until the server
/// has acknowledged it.
struct Forward: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send recorded positions to other servers, and repeat them until they are acknowledged.",
        usage: "godwit forward --to <address> … [<options>]",
        discussion: """
            The first run sends everything in the history; later runs continue with the points that a server has not \
            acknowledged. The queue of each server is part of the history. Run one forwarder for a history: a server \
            that is no longer named with --to is forgotten, and gets everything again when it is named again. Exit \
            codes: 66 the history or a file with a secret cannot be read, 69 a server rejects the last points (--once), \
            77 a forwarder that was started later took the history over.

            Example:
              godwit forward --to overland+https://example.org/overland --token-file token
            """)

    @Option(
        help: ArgumentHelp(
            "Send to this server: overland+https://HOST/PATH for an Overland server, webhook+https://HOST/PATH for signed CloudEvents, or mqtts://[USER@]HOST for the recorder at another broker; with #token-file=PATH, #secret-file=PATH or #password-file=PATH for a secret of its own. Repeatable.",
            valueName: "address"), transform: ForwardAddress.checked)
    var to: [ForwardAddress] = []

    @Option(
        help: ArgumentHelp(
            "Send the first line of this file to Overland servers as their token.", valueName: "path"))
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "Sign requests to webhooks with the first line of this file, at least 16 bytes.", valueName: "path"))
    var secretFile: String?

    @Option(
        help: ArgumentHelp("Send at most this number of points in one request, 1 to 1000.", valueName: "n"))
    var batchSize = 200

    @Flag(help: "End when every server has acknowledged every point.")
    var once = false

    @Option(
        help: ArgumentHelp(
            "Forward the points of this trackable, and of no others. Repeatable. Default: all trackables.",
            valueName: "id"))
    var only: [String] = []

    @Option(help: ArgumentHelp("Do not forward the points of this trackable. Repeatable.", valueName: "id"))
    var except: [String] = []

    @Option(
        help: ArgumentHelp(
            "Serve /healthz, /readyz and /metrics over HTTP at this address; port 0 chooses a free port. Default: do not serve them.",
            valueName: "host:port"))
    var listen: ListenAddress?

    @Option(
        help: ArgumentHelp(
            "Log messages from this level on to standard error: error, warning, info, debug or trace.",
            valueName: "level"))
    var logLevel = "warning"

    @OptionGroup(title: "History and configuration") var store: StoreOptions
    @OptionGroup(title: "History and configuration") var file: FileOptions

    func validate() throws {
        guard !self.to.isEmpty else {
            throw ValidationError("--to is missing. Give the address of a server, such as overland+https://HOST/PATH")
        }
        guard (1...Forwarder.maximumBatchSize).contains(self.batchSize) else {
            throw ValidationError(
                "--batch-size must be 1 to \(Forwarder.maximumBatchSize), not \(self.batchSize)")
        }
        guard Set(self.to.map(\.name)).count == self.to.count else {
            throw ValidationError("--to is given twice with the same address. Give each address once")
        }
        let logins = self.to.compactMap(\.brokerLogin)
        guard Set(logins).count == logins.count else {
            throw ValidationError(
                "--to is given twice with the same broker and user, and each connection would end the other. Give each address a user of its own"
            )
        }
        guard Logger.Level(rawValue: self.logLevel) != nil else {
            throw ValidationError("--log-level must be error, warning, info, debug or trace, not '\(self.logLevel)'")
        }
        do throws(TrackingError) {
            for id in self.only + self.except { _ = try TrackableID(id) }
        } catch {
            throw ValidationError(error.message)
        }
        if let both = Set(self.only).intersection(self.except).min() {
            throw ValidationError("--only and --except both name \(both.printable). Leave one of them out")
        }
    }

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.logLevel) ?? .warning)
        let sinks = try self.to.map { (address) throws(TrackingError) in try self.sink(address) }
        let server = self.listen.map { ForwardServer(listen: $0) }
        let health = server?.health ?? ForwardHealth()
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment)
        let (only, except) = (Set(self.only), Set(self.except))
        try await self.store.use(mayChange: true) { store in
            guard let store = store as? any ForwardingStore else { return }
            try await self.warnAboutUnknownTrackables(store)
            let forwarder = Forwarder(
                store, to: sinks, batchSize: self.batchSize, endsWhenEmpty: self.once, health: health
            ) { id in
                (only.isEmpty || only.contains(id.rawValue)) && !except.contains(id.rawValue)
            }
            notifier?.ready()
            Program.note("forwarding to \(self.to.map(\.description).joined(separator: ", "))\n")
            try await Program.run(forwarder, beside: server?.service)
            notifier?.stopping()
        }
    }

    /// Warns about each trackable of `--only` and `--except` without a record. The options then select other trackables
    /// than the user expects, and a point that no server needs leaves the queues.
    private func warnAboutUnknownTrackables(_ store: any HistoryStore) async throws {
        for (option, names) in [("--only", self.only), ("--except", self.except)] {
            for id in try names.map({ try TrackableID($0) })
            where try await !store.summaries(of: [id]).contains(where: \.isRecorded) {
                let question = try await store.nearestNames(to: id).question
                Program.note(
                    ["Warning: \(option): the history has no record of \(id.rawValue.printable).", question?.printable]
                        .compactMap(\.self).joined(separator: " ") + "\n")
            }
        }
    }

    private func sink(_ address: ForwardAddress) throws(TrackingError) -> ForwardSink {
        guard address.kind == .mqtt else { return .http(try HTTPSink(address, secret: try self.secret(of: address))) }
        guard let path = address.secretFile else { return .mqtt(try MQTTSink(address, password: nil)) }
        let password: @Sendable () throws(TrackingError) -> String = { () throws(TrackingError) in
            try SecretFile.read(path, "password file")
        }
        _ = try password()
        return .mqtt(try MQTTSink(address, password: password))
    }

    /// Returns the token or the key for a server: the first line of its own file, otherwise that of the file for all
    /// servers with the same protocol; `nil` without a file.
    private func secret(of address: ForwardAddress) throws(TrackingError) -> String? {
        let shared = address.kind == .overland ? self.tokenFile : self.secretFile
        guard let path = address.secretFile ?? shared else { return nil }
        return try SecretFile.read(path, address.kind == .overland ? "token file" : "secret file")
    }
}

extension ForwardAddress {
    /// Parses the value of `--to`.
    ///
    /// - Throws: `ValidationError` that names the violated rule.
    static func checked(_ text: String) throws -> ForwardAddress {
        try godwit.checked { () throws(TrackingError) in try ForwardAddress(text) }
    }
}

/// The HTTP health checks and metrics of a forwarder that runs with `--listen`.
private struct ForwardServer {
    let health: ForwardHealth
    let service: HealthServer

    /// Creates the server. The program also counts metrics from now on.
    init(listen: ListenAddress) {
        let health = ForwardHealth()
        let metrics = PrometheusRegistry(helps: ForwardHelps.all)
        MetricsSystem.bootstrap(metrics)
        self.health = health
        self.service = HealthServer(
            host: listen.host, port: listen.port, checks: ["sinks": { health.reason }], metrics: metrics
        ) { port in
            Program.note("listening on http://\(ListenAddress(host: listen.host, port: port))\n")
        }
    }
}
