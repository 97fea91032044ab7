import ArgumentParser
import GodwitOptions
import Logging
import Synchronization
import TrackingCore
import TrackingHistory
import TrackingMQTT
import TrackingStore
import TrackingSubscriber

/// `godwit watch`: shows positions, states and resolutions as they arrive.
struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Watch trackables live.",
        usage: "godwit watch [<options>] <ids> ... | --all",
        discussion: """
            On a terminal, text is a live table. Keys: + asks for a finer resolution, - for a coarser one, 0 for none, \
            q quits. In a pipe, text is one line for each event, json one object a line, and geojson a text sequence \
            (RFC 8142). --help-hidden shows all options.

            Example:
              godwit watch van-7 --resolution HIGH/1000/1
            """)

    @Argument(help: "The ids of the trackables to watch.")
    var ids: [String] = []

    @Flag(help: "Watch every trackable under the topic root, including later ones.")
    var all = false

    @Option(help: ArgumentHelp("Print text, json, geojson or csv.", valueName: "format"))
    var format = WatchFormat.text

    @Option(
        help: ArgumentHelp(
            "Ask for this resolution: accuracy (MINIMUM LOW BALANCED HIGH MAXIMUM), interval in ms, displacement in metres, as HIGH/1000/1.",
            valueName: "a/i/d"))
    var resolution: Resolution?

    @Flag(help: "Watch without being counted as a subscriber, and ask for no resolution.")
    var silent = false

    @Flag(help: "Prefer positions on the road. Without an enhancer, show those that publishers publish.")
    var enhanced = false

    @Option(parsing: .unconditional, help: ArgumentHelp("End after this many positions.", valueName: "n"))
    var count: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "End after this many seconds; with --count, the exit code is 1 if fewer positions arrived.",
            valueName: "seconds"))
    var timeout: Double?

    @OptionGroup var units: UnitsOptions

    @Flag(help: ArgumentHelp("Also print the points that were not published live, in order.", visibility: .hidden))
    var skipped = false

    @Option(
        help: ArgumentHelp(
            "Print the recorded positions since this time first: RFC 3339 (2026-05-04T09:30:00Z), or how long ago (10m, 2h).",
            valueName: "time"))
    var since: String?

    @OptionGroup(title: "History") var store: StoreOptions
    @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

    func validate() throws {
        _ = try self.start(now: TimeText.now)
        if self.ids.isEmpty, !self.all {
            throw ValidationError(
                "no trackable to watch is given. Give the ids of trackables, or --all for every trackable")
        }
        if !self.ids.isEmpty, CommandLine.arguments.contains("--all") {
            throw ValidationError("the ids of trackables and --all exclude each other. Leave one of them out")
        }
        if self.silent, self.resolution != nil {
            throw ValidationError(
                "--silent and --resolution exclude each other, because a silent watcher requests no resolution. Leave one of them out"
            )
        }
        if let count = self.count, count < 1 { throw ValidationError("--count must be 1 or more, not \(count)") }
        if let timeout = self.timeout, !(timeout > 0 && timeout < 1e9) {
            throw ValidationError("--timeout must be above 0 and below 1e9 seconds, not \(timeout)")
        }
        for id in self.ids {
            do throws(TrackingError) { _ = try TrackableID(id) } catch { throw ValidationError(error.message) }
        }
    }

    /// `true` to watch every trackable. Ids on the command line have precedence over the key `all` of the file.
    private var watchesAll: Bool { self.all && self.ids.isEmpty }

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        let identity = try self.broker.identity()
        var configuration = SubscriberConfiguration(client: identity.client, session: identity.session)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.isSilent = self.silent
        configuration.wantsRaw = true
        configuration.prefers = self.enhanced ? .enhanced : .published
        configuration.wantsJourneys = true
        configuration.watchesAll = self.watchesAll
        configuration.readsBrokerDrops = self.watchesAll
        configuration.requestForAll = self.resolution
        configuration.isClientRandom = identity.isRandom
        let subscriber = AssetSubscriber(
            configuration: configuration, transport: try self.broker.transport(for: configuration))
        let named = try self.ids.map { try TrackableID($0) }
        let watcher = Watcher(
            format: self.format, request: self.resolution, count: self.count, timeout: self.timeout,
            printsSkipped: self.skipped, failsFast: self.broker.failFast,
            hasChangingCredentials: self.broker.hasChangingCredentials, named: Set(named), isSilent: self.silent,
            showsRoads: self.enhanced, units: self.units.units)
        guard let start = try self.start(now: TimeText.now) else {
            return try await self.watch(with: watcher, subscriber, subscriber.events)
        }
        try await self.store.use { store in
            let ids = try await self.all ? store.allTrackables() : self.ids.map { try TrackableID($0) }
            // One page of points of each trackable is in memory at a time, so the page is smaller for many trackables.
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

/// The live table of `godwit watch`. The task that receives events and the task that draws share it.
final class LiveView: Sendable {
    /// The effect of a pressed key in `godwit watch`: end the program, or change the resolution that is requested for
    /// all watched trackables.
    enum Change: Equatable { case quit, request }

    private let state: Mutex<(table: LiveTable, trackables: Set<TrackableID>)>

    init(table: LiveTable, request: Resolution?) {
        var table = table
        table.request = request
        self.state = Mutex((table, []))
    }

    var request: Resolution? { self.state.withLock { $0.table.request } }
    var trackables: Set<TrackableID> { self.state.withLock { $0.trackables } }

    /// Updates the live table with an event that the subscriber delivered.
    ///
    /// - Returns: The event's trackable, if the event is the first one with the subscriber's state for this trackable;
    ///   otherwise `nil`.
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
