import ArgumentParser
import GodwitOptions
import Logging
import Synchronization
import TrackingCore
import TrackingMQTT
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

    @Option(help: ArgumentHelp("End after this many location updates.", valueName: "n"))
    var count: Int?

    @Option(help: ArgumentHelp("End after this many seconds; with --count, 1 when they did not come in time.", valueName: "seconds"))
    var timeout: Double?

    @Flag(help: "Also print the points that were not sent by themselves, in order.")
    var skipped = false

    func validate() throws {
        if self.ids.isEmpty != self.all { throw ValidationError("give the ids to watch, or --all") }
        if self.silent, self.resolution != nil { throw ValidationError("--silent asks for nothing; leave --resolution out") }
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
        let connection = try self.broker.transport(identity)
        var configuration = SubscriberConfiguration(client: identity.client, session: identity.session)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.isSilent = self.silent
        configuration.wantsRaw = true
        configuration.watchesAll = self.all
        configuration.requestForAll = self.resolution
        configuration.isClientRandom = identity.isRandom
        let subscriber = AssetSubscriber(configuration: configuration, transport: connection)
        let events = subscriber.events
        for id in self.ids { subscriber.watch(try TrackableID(id), requesting: self.resolution) }
        try await self.run(subscriber, events)
    }

    private func run(
        _ subscriber: AssetSubscriber<MQTTTransport>, _ events: AsyncStream<SubscriberEvent>
    ) async throws {
        let ending = Ending()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await self.show(subscriber, events, ending)
                subscriber.finish()
            }
            if let timeout = self.timeout {
                group.addTask {
                    guard (try? await Task.sleep(for: .seconds(timeout))) != nil else { return }
                    ending.note(self.count == nil ? nil : ExitCode(1))
                    subscriber.finish()
                }
            }
            do { try await Program.run(subscriber) } catch { ending.note(error) }
            group.cancelAll()
        }
        if let error = ending.error { throw error }
    }

    private func show(
        _ subscriber: AssetSubscriber<MQTTTransport>, _ events: AsyncStream<SubscriberEvent>, _ ending: Ending
    ) async {
        if self.format == .text, Terminal.isOutput {
            await self.showTable(subscriber, events, ending)
        } else {
            await self.printEvents(events, ending)
        }
    }

    private func printEvents(_ events: AsyncStream<SubscriberEvent>, _ ending: Ending) async {
        let printer = WatchPrinter(format: self.format, printsSkipped: self.skipped)
        if let header = printer.header { Terminal.write(header) }
        var left = self.count ?? .max
        for await event in events {
            guard !self.isOver(event, ending) else { return }
            if let text = printer.text(event, receivedAt: TimeText.now) { Terminal.write(text) }
            if case .location = event { left -= 1 }
            if left == 0 { return }
        }
    }

    private func showTable(
        _ subscriber: AssetSubscriber<MQTTTransport>, _ events: AsyncStream<SubscriberEvent>, _ ending: Ending
    ) async {
        let view = LiveView(table: LiveTable(hasColour: Terminal.hasColour), request: self.resolution)
        let terminal = Terminal()
        defer { terminal.restore() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var left = self.count ?? .max
                for await event in events {
                    guard !self.isOver(event, ending) else { return }
                    view.happened(event)
                    if case .location = event { left -= 1 }
                    if left == 0 { return }
                }
            }
            group.addTask {
                while !Task.isCancelled {
                    terminal.draw(view.lines(width: Terminal.width, now: TimeText.now) { subscriber.untilNextExpected($0) })
                    for key in terminal.keys {
                        guard let change = view.pressed(key) else { continue }
                        if change == .quit { return }
                        for id in view.trackables { subscriber.request(view.request, for: id) }
                    }
                    try? await Task.sleep(for: .milliseconds(200))
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// Whether this ends the watching: refused for good, or not reached where that is asked to end.
    private func isOver(_ event: SubscriberEvent, _ ending: Ending) -> Bool {
        guard case .connection(let lost?) = event, lost.lasted == nil, let reason = lost.reason,
            reason.isRefusal || self.broker.failFast
        else { return false }
        ending.note(reason)
        return true
    }
}

/// The first reason to end with something other than success.
final class Ending: Sendable {
    private let first = Mutex<(any Error)?>(nil)

    /// Why; `nil` when all is well.
    var error: (any Error)? { self.first.withLock { $0 } }

    /// Keeps the first error it is told.
    func note(_ error: (any Error)?) { self.first.withLock { $0 = $0 ?? error } }
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

    func happened(_ event: SubscriberEvent) {
        self.state.withLock { state in
            if case .state(let id, _, _) = event { state.trackables.insert(id) }
            state.table.happened(event)
        }
    }

    func lines(width: Int, now: UnixTime, due: (TrackableID) -> Duration?) -> [String] {
        let table = self.state.withLock { $0.table }
        return table.lines(width: width, now: now, due: due)
    }

    func pressed(_ key: Character) -> Change? {
        self.state.withLock { state in
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
