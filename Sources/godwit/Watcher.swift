import ArgumentParser
import GodwitOptions
import Logging
import TrackingCore
import TrackingMQTT
import TrackingSubscriber

/// Shows the events of a subscriber for `godwit watch`, as a live table or as lines of text. Ends when the user quits,
/// a limit is reached, or an error occurs.
struct Watcher: Sendable {
    let format: WatchFormat
    let request: Resolution?
    let count: Int?
    let timeout: Double?
    let printsSkipped: Bool
    let failsFast: Bool
    /// `true` if the credentials for the broker can change while the program runs. After the first connection, a refusal
    /// of the credentials then does not end the program.
    let hasChangingCredentials: Bool
    /// The ids of the trackables to watch. An empty set means all trackables.
    let named: Set<TrackableID>
    /// `true` if the watcher is silent: publishers do not count it as a subscriber, and it never requests a resolution.
    let isSilent: Bool
    /// `true` if the watcher prefers positions on the road, so that CSV has a column for the road.
    let showsRoads: Bool
    let units: DisplayUnits

    /// The shortest time between two drawings of the table, unless a key is pressed. Many events in a short time then
    /// cause few drawings.
    private static let shortestPause = Duration.milliseconds(200)

    private let logger = Logger(label: "godwit.watch")

    init(
        format: WatchFormat, request: Resolution?, count: Int?, timeout: Double?, printsSkipped: Bool, failsFast: Bool,
        hasChangingCredentials: Bool = false, named: Set<TrackableID>, isSilent: Bool, showsRoads: Bool,
        units: DisplayUnits
    ) {
        self.format = format
        self.request = request
        self.count = count
        self.timeout = timeout
        self.printsSkipped = printsSkipped
        self.failsFast = failsFast
        self.hasChangingCredentials = hasChangingCredentials
        self.named = named
        self.isSilent = isSilent
        self.showsRoads = showsRoads
        self.units = units
    }

    private enum Part: Hashable { case shown, timeout, waited }

    /// Shows events until one of these happens: the wanted number of positions was shown, the time limit has passed,
    /// the user quits, or the broker refuses the program for good.
    func run<Events: AsyncSequence & Sendable>(
        _ subscriber: AssetSubscriber<MQTTTransport>, _ events: Events
    ) async throws where Events.Element == SubscriberEvent {
        let ending = Ending()
        await withTaskGroup(of: Part.self) { group in
            group.addTask {
                await self.show(subscriber, events, ending)
                subscriber.finish()
                return .shown
            }
            if let timeout = self.timeout {
                group.addTask {
                    guard (try? await Task.sleep(for: .seconds(timeout))) != nil else { return .timeout }
                    ending.note(self.count == nil ? nil : ExitCode(1))
                    subscriber.finish()
                    return .timeout
                }
            }
            do { try await Program.run(subscriber) } catch { ending.note(error) }
            // Received events are shown for one more second.
            group.addTask {
                try? await Task.sleep(for: .seconds(1))
                return .waited
            }
            for await part in group where part != .timeout { break }
            group.cancelAll()
        }
        let lost = subscriber.lostEvents
        if lost > 0 {
            self.logger.warning(
                "Received events were not printed, because the reader of standard output is too slow: the oldest events were dropped. Use a faster reader",
                metadata: ["events lost": "\(lost)"])
        }
        if let error = ending.error { throw error }
    }

    private func show<Events: AsyncSequence & Sendable>(
        _ subscriber: AssetSubscriber<MQTTTransport>, _ events: Events, _ ending: Ending
    ) async where Events.Element == SubscriberEvent {
        do {
            if self.format == .text, Terminal.isOutput {
                try await self.showTable(subscriber, events, ending)
            } else {
                try await self.printEvents(events, ending)
            }
        } catch let failure as Output.Failure where !failure.isClosed {
            Program.complain(failure.description)
            ending.note(ExitCode.outputUnwritable)
        } catch let error as TrackingError {
            ending.note(error)  // the history cannot be read
        } catch {
            // The reader closed the output, or the time for received events is over.
        }
    }

    private func printEvents<Events: AsyncSequence & Sendable>(
        _ events: Events, _ ending: Ending
    ) async throws where Events.Element == SubscriberEvent {
        let output = Output()
        let printer = WatchPrinter(
            format: self.format, printsSkipped: self.printsSkipped, showsRoads: self.showsRoads, units: self.units)
        if let header = printer.header { try await output.write(header) }
        var left = self.count ?? .max
        var refusals = Refusals(named: self.named)
        try await WatchStart(named: self.named).show(events) { event in
            guard !self.isOver(event, ending, &refusals) else { return false }
            if case .silent(let id) = event {
                self.logger.warning(
                    "Nothing received of a watched trackable: it was never published, or this user may not read it. Check the id and the user's rights",
                    metadata: ["trackable": "\(id)"])
            }
            if let text = printer.text(event, receivedAt: TimeText.now) { try await output.write(text) }
            if case .location = event { left -= 1 }
            return left > 0
        }
    }

    private func showTable<Events: AsyncSequence & Sendable>(
        _ subscriber: AssetSubscriber<MQTTTransport>, _ events: Events, _ ending: Ending
    ) async throws where Events.Element == SubscriberEvent {
        let output = Output()
        let table = LiveTable(hasColour: Terminal.hasColour, isSilent: self.isSilent, units: self.units)
        let view = LiveView(table: table, request: self.request)
        let terminal = Terminal(output)
        defer { terminal.restore() }
        @Sendable func draw() async throws {
            try await terminal.draw(
                view.lines(size: Terminal.size, now: TimeText.now) { subscriber.untilNextExpected($0) })
        }
        try await output.write(Terminal.start)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                var left = self.count ?? .max
                var refusals = Refusals(named: self.named)
                try await WatchStart(named: self.named).show(events) { event in
                    guard !self.isOver(event, ending, &refusals) else { return false }
                    // A trackable that has just appeared gets the present request as well.
                    if let id = view.happened(event) { subscriber.request(view.request, for: id) }
                    terminal.wake()
                    if case .location = event { left -= 1 }
                    return left > 0
                }
            }
            group.addTask {
                while !Task.isCancelled {
                    try await draw()
                    let next = ContinuousClock.now + Self.shortestPause
                    // The ages in the table grow each second.
                    await terminal.wait(for: .seconds(1))
                    let keys = terminal.keys
                    for key in keys {
                        guard let change = view.pressed(key) else { continue }
                        if change == .quit { return }
                        for id in view.trackables { subscriber.request(view.request, for: id) }
                    }
                    if keys.isEmpty { try? await Task.sleep(until: next, clock: .continuous) }
                }
            }
            try await group.next()
        }
        // The table is drawn once more, with the events since the last time.
        try await draw()
    }

    /// Returns `true` if an event ends the program. An event ends it if the broker refuses the connection or all
    /// subscriptions, or if this program closed the connection. With `--fail-fast`, an unreachable broker ends it as
    /// well. A refusal of credentials that can change ends it only before the first connection.
    private func isOver(_ event: SubscriberEvent, _ ending: Ending, _ refusals: inout Refusals) -> Bool {
        if let error = refusals.happened(event) {
            ending.note(error)
            return true
        }
        guard case .connection(let lost?) = event else { return false }
        if lost.retry == nil, lost.reason == nil { return true }
        guard let reason = lost.failure else { return false }
        let mayPass = self.hasChangingCredentials && refusals.hasConnected && reason.isIdentityRefusal
        guard self.failsFast || reason.isRefusal && !mayPass else { return false }
        ending.note(reason)
        return true
    }
}

extension Watcher {
    /// The watched trackables whose subscriptions the broker rejects at present. If it rejects all of them, `godwit
    /// watch` ends.
    struct Refusals {
        /// The ids of the trackables to watch. An empty set means all trackables.
        let named: Set<TrackableID>
        /// `true` once the broker has accepted a connection.
        private(set) var hasConnected = false
        private var refused: Set<TrackableID> = []

        init(named: Set<TrackableID>) { self.named = named }

        /// Handles an event of the subscriber: adds a trackable whose subscription the broker rejects to the set, and
        /// removes a trackable with a known presence, because its subscription is granted.
        ///
        /// - Returns: The broker's reason once it rejects every watched trackable; otherwise `nil`.
        mutating func happened(_ event: SubscriberEvent) -> TrackingError? {
            switch event {
            case .connection(nil):
                self.hasConnected = true
                return nil
            case .refused(let id, let error):
                if let id { self.refused.insert(id) }
                return self.refused == self.named ? error : nil
            case .presence(let id, let presence) where presence.status != .unknown:
                // A known presence shows that the broker grants the subscription.
                self.refused.remove(id)
                return nil
            default:
                return nil
            }
        }
    }
}
