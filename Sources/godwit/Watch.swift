import ArgumentParser
import GodwitOptions
import Logging
import Synchronization
import TrackingCore
import TrackingHistory
import TrackingMQTT
import TrackingStore
import TrackingSubscriber

/// `godwit watch`: positions, states and resolutions, as they come.
struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Watch trackables live.",
        discussion: """
            On a terminal, text is a live table; + asks for a finer resolution, - for a coarser one, 0 for none, q ends. \
            Piped, text is one line an event. json is one object a line; geojson is a GeoJSON text sequence (RFC 8142).
            """)

    @Argument(help: "What to watch.")
    var ids: [String] = []

    @Flag(help: "Watch every trackable under the topic root, as it shows up.")
    var all = false

    @OptionGroup var broker: BrokerOptions

    @Option(help: ArgumentHelp("text, json, geojson or csv.", valueName: "format"))
    var format = WatchFormat.text

    @Option(
        help: ArgumentHelp(
            "Ask for this resolution: accuracy (MINIMUM LOW BALANCED HIGH MAXIMUM), interval in ms, displacement in metres.",
            valueName: "a/i/d"))
    var resolution: Resolution?

    @Flag(help: "Watch without being counted present; asks for nothing.")
    var silent = false

    @Option(parsing: .unconditional, help: ArgumentHelp("End after this many location updates.", valueName: "n"))
    var count: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "End after this many seconds; with --count, 1 when they did not come in time.", valueName: "seconds"))
    var timeout: Double?

    @OptionGroup var units: UnitsOptions

    @Flag(help: "Also print the points that were not sent by themselves, in order.")
    var skipped = false

    @Option(
        help: ArgumentHelp(
            "First what was recorded since this time, then live: RFC 3339 (2026-05-04T09:30:00Z), or how long ago (10m, 2h).",
            valueName: "time"))
    var since: String?

    @OptionGroup var store: StoreOptions

    func validate() throws {
        _ = try self.start(now: TimeText.now)
        if self.ids.isEmpty != self.all { throw ValidationError("give the ids to watch, or --all") }
        if self.silent, self.resolution != nil {
            throw ValidationError("--silent asks for nothing; leave --resolution out")
        }
        if let count = self.count, count < 1 { throw ValidationError("--count must be 1 or more, not \(count)") }
        if let timeout = self.timeout, !(timeout > 0 && timeout < 1e9) {
            throw ValidationError("--timeout must be above 0 seconds, not \(timeout)")
        }
        for id in self.ids {
            do throws(TrackingError) { _ = try TrackableID(id) } catch { throw ValidationError(error.message) }
        }
    }

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        let identity = try self.broker.identity()
        var configuration = SubscriberConfiguration(client: identity.client, session: identity.session)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.isSilent = self.silent
        configuration.wantsRaw = true
        configuration.watchesAll = self.all
        configuration.requestForAll = self.resolution
        configuration.isClientRandom = identity.isRandom
        let subscriber = AssetSubscriber(
            configuration: configuration, transport: try self.broker.transport(for: configuration))
        let named = try self.ids.map { try TrackableID($0) }
        let watcher = Watcher(
            format: self.format, request: self.resolution, count: self.count, timeout: self.timeout,
            printsSkipped: self.skipped, failsFast: self.broker.failFast, named: Set(named), isSilent: self.silent,
            units: self.units.units)
        guard let start = try self.start(now: TimeText.now) else {
            return try await self.watch(with: watcher, subscriber, subscriber.events)
        }
        try await self.store.use { store in
            let ids = try await self.all ? store.allTrackables() : self.ids.map { try TrackableID($0) }
            // A page of each is held.
            let limit = max(10, min(1000, 100_000 / max(1, ids.count)))
            let events = subscriber.events(since: start, of: ids) { id, from, after throws(TrackingError) in
                let query = PointQuery(id, during: TimeSpan(from: from))
                let page = try await store.points(query, after: after, limit: limit)
                return (page.points.filter { !$0.hasClockFault }.map(\.location), page.next)
            }
            try await self.watch(with: watcher, subscriber, events)
        }
    }

    private func watch<Events: AsyncSequence & Sendable>(
        with watcher: Watcher, _ subscriber: AssetSubscriber<MQTTTransport>, _ events: Events
    ) async throws where Events.Element == SubscriberEvent {
        for id in self.ids { subscriber.watch(try TrackableID(id), requesting: self.resolution) }
        try await watcher.run(subscriber, events)
    }

    private func start(now: UnixTime) throws -> UnixTime? {
        try self.since.map { text in
            try checked { () throws(TrackingError) in try HistoryTime.moment(text, now: now) }
        }
    }
}

/// The live table between the task that hears and the task that draws.
final class LiveView: Sendable {
    /// What a key asks for.
    enum Change: Equatable { case quit, request }

    private let state: Mutex<(table: LiveTable, trackables: Set<TrackableID>)>

    init(table: LiveTable, request: Resolution?) {
        var table = table
        table.request = request
        self.state = Mutex((table, []))
    }

    var request: Resolution? { self.state.withLock { $0.table.request } }
    var trackables: Set<TrackableID> { self.state.withLock { $0.trackables } }

    /// Takes in what happened.
    ///
    /// - Returns: The trackable that showed up with it, where one did.
    func happened(_ event: SubscriberEvent) -> TrackableID? {
        self.state.withLock { state in
            state.table.happened(event)
            guard case .state(let id, _, _) = event, state.trackables.insert(id).inserted else { return nil }
            return id
        }
    }

    func lines(size: (width: Int, height: Int), now: UnixTime, due: (TrackableID) -> Duration?) -> [String] {
        var table = self.state.withLock { $0.table }
        table.logged = Terminal.heldErrors
        return table.lines(width: size.width, height: size.height, now: now, due: due)
    }

    func pressed(_ key: Character) -> Change? {
        self.state.withLock { state in
            guard !state.table.isSilent || !"+=-_0".contains(key) else { return nil }
            let request = state.table.request ?? .standard
            switch key {
            case "+", "=": state.table.request = request.oneStepFiner
            case "-", "_": state.table.request = request.oneStepCoarser
            case "0": state.table.request = nil
            case "q", "Q", "\u{04}": return .quit
            default: return nil
            }
            return .request
        }
    }
}
