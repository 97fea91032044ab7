package import Logging
import ServiceLifecycle
package import TrackingCore
import TrackingHTTP
import TrackingRuntime
package import TrackingSinks
package import TrackingStore

/// Sends the recorded points of a history to sinks. A slow sink does not delay the others.
package struct Forwarder: Service {
    private let store: any ForwardingStore
    private let sinks: [ForwardSink]
    private let batchSize: Int
    private let endsWhenEmpty: Bool
    private let isForwarded: @Sendable (TrackableID) -> Bool
    private let health: ForwardHealth
    private let logger: Logger

    /// The largest number of points in a batch that can be requested: 1,000, as in the app Overland.
    package static let maximumBatchSize = 1000

    /// Creates a forwarder that sends nothing yet.
    ///
    /// - Parameters:
    ///   - store: The history.
    ///   - sinks: The sinks. The history forgets all others.
    ///   - batchSize: The largest number of points in a batch, 1…``maximumBatchSize``.
    ///   - endsWhenEmpty: `true` to end when every point was acknowledged by every sink.
    ///   - health: The states of the sinks, which the forwarder updates.
    ///   - logger: The logger for failures.
    ///   - isForwarded: Returns `true` for a trackable whose points are forwarded. The points of others leave the queues.
    package init(
        _ store: any ForwardingStore, to sinks: [ForwardSink], batchSize: Int, endsWhenEmpty: Bool = false,
        health: ForwardHealth = ForwardHealth(), logger: Logger = Logger(label: "godwit.forward"),
        isForwarded: @escaping @Sendable (TrackableID) -> Bool = { _ in true }
    ) {
        self.store = store
        self.sinks = sinks
        self.batchSize = batchSize
        self.endsWhenEmpty = endsWhenEmpty
        self.health = health
        self.logger = logger
        self.isForwarded = isForwarded
    }

    /// Forwards points until a graceful shutdown or cancellation, or until every point is acknowledged.
    ///
    /// - Throws: `storeFailed` if the queues cannot be set up; `takenOver` if a later forwarder has taken them over;
    ///   `notAcknowledged`, after the other sinks have acknowledged every point, for a sink that rejects the last points
    ///   of its queue.
    package func run() async throws {
        try await self.store.beginForwarding(to: self.sinks.map(\.address.name))
        let client = HTTPClient()
        let failure = await cancelWhenGracefulShutdown {
            await withTaskGroup(of: TrackingError?.self) { group in
                for (index, sink) in self.sinks.enumerated() {
                    group.addTask { await self.forward(to: sink, number: index + 1, client) }
                }
                var failure: TrackingError?
                for await result in group {
                    failure = failure ?? result
                    // Every sink has the same forwarder.
                    if result?.code == .takenOver { group.cancelAll() }
                }
                return failure
            }
        }
        if let failure { throw failure }
    }

    /// Forwards points to one sink, and holds its connection meanwhile.
    ///
    /// - Returns: The reason why the sink does not get the last points of its queue; `nil` for an orderly end.
    private func forward(to sink: ForwardSink, number: Int, _ client: HTTPClient) async -> TrackingError? {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await sink.run() }
            var work = SinkWork(
                sink, number: number, self.store, client, health: self.health, logger: self.logger,
                isForwarded: self.isForwarded)
            let failure = await work.run(
                ForwardStateMachine(batchSize: self.batchSize, endsWhenEmpty: self.endsWhenEmpty))
            group.cancelAll()
            return failure
        }
    }
}

/// A server to which points are forwarded: an HTTP server or a broker.
package enum ForwardSink: Sendable {
    case http(HTTPSink)
    case mqtt(MQTTSink)

    /// The address of the server.
    package var address: ForwardAddress {
        switch self {
        case .http(let sink): sink.address
        case .mqtt(let sink): sink.address
        }
    }

    /// Holds the connection to a broker until the task is cancelled. Returns at once for an HTTP server.
    func run() async {
        if case .mqtt(let sink) = self { await sink.run() }
    }

    /// Sends the first points of a batch, and returns the result with the number of points that were sent.
    ///
    /// - Parameters:
    ///   - batch: The batch.
    ///   - client: The client for an HTTP server.
    ///   - now: The time of the wall clock, for signatures.
    func send(
        _ batch: ForwardBatch, over client: HTTPClient, at now: UnixTime
    ) async -> (answer: ForwardAnswer, count: Int) {
        switch self {
        case .http(let sink): await sink.send(batch, over: client, at: now)
        case .mqtt(let sink): await sink.send(batch)
        }
    }
}

/// Performs the steps of the forwarding to one sink.
private struct SinkWork {
    private let sink: ForwardSink
    private let store: any ForwardingStore
    private let client: HTTPClient
    private let health: ForwardHealth
    private let logger: Logger
    private let isForwarded: @Sendable (TrackableID) -> Bool
    private let metrics: ForwardMetrics
    private let clock = DeviceClock()
    private var selection = ForwardSelection()
    /// The reason of the last rejection of points because of their content.
    private var rejection = ""

    init(
        _ sink: ForwardSink, number: Int, _ store: any ForwardingStore, _ client: HTTPClient, health: ForwardHealth,
        logger: Logger, isForwarded: @escaping @Sendable (TrackableID) -> Bool
    ) {
        self.sink = sink
        self.store = store
        self.client = client
        self.health = health
        self.logger = logger
        self.isForwarded = isForwarded
        self.metrics = ForwardMetrics(sink: "\(sink.address)", number: number)
    }

    /// Performs the steps until the end, or until the task is cancelled.
    ///
    /// - Returns: The reason why the sink does not get the last points of its queue; `nil` for an orderly end.
    mutating func run(_ start: ForwardStateMachine) async -> TrackingError? {
        var state = start
        var action = state.first
        while !Task.isCancelled {
            let event: ForwardStateMachine.Event
            do throws(TrackingError) {
                switch action {
                case .read(let limit): event = .read(try await self.read(limit))
                case .send: event = .answered(try await self.send())
                case .remove, .removeAndRepeat:
                    try await self.store.removeForwarded(self.selection.done)
                    self.selection.removed(repeatsLeftOut: action == .removeAndRepeat)
                    event = .removed
                case .quarantine:
                    try await self.quarantine()
                    event = .removed
                case .wait(let deadline):
                    await self.clock.sleep(until: deadline)
                    event = .due
                case .end: return nil
                case .giveUp: return self.failure
                }
            } catch {
                guard !Task.isCancelled else { return nil }
                if error.code == .takenOver { return error }
                self.logger.error(
                    "History could not be read or written while points were forwarded: the points stay in the queue, and the forwarder tries again",
                    metadata: ["sink": "\(self.sink.address)", "reason": "\(error.message)"])
                event = .storeFailed
            }
            let before = state
            action = state.happened(event, at: DeviceClock.now)
            self.selection.counted(leftOut: state.leftOut, before: before.leftOut, isRemoval: event == .removed)
            if !Task.isCancelled { self.report(event, before, state) }
        }
        return nil
    }

    /// The error of a sink that rejects points, and acknowledges no later one.
    private var failure: TrackingError {
        TrackingError(
            .notAcknowledged,
            "cannot forward every point to \(self.sink.address): it rejects \(self.selection.leftOut.count) points because of their content, and acknowledges no later one, so the fault may be the server's: \(self.rejection). The points remain in the queue. Correct the server, or start the command again when the history has later points"
        )
    }

    /// Quarantines the point that was sent once more and rejected again.
    private mutating func quarantine() async throws(TrackingError) {
        let numbers = self.selection.sent
        try await self.store.quarantineForwarded(numbers, because: String(self.rejection.prefix(200)))
        self.selection.quarantined()
        self.metrics.quarantined(numbers.count)
        self.logger.error(
            "Sink rejected points because of their content: the forwarder quarantines these points, does not send them again, and sends the other points",
            metadata: [
                "sink": "\(self.sink.address)", "reason": "\(self.rejection)", "count": "\(numbers.count)",
            ])
    }

    private mutating func read(_ limit: Int) async throws(TrackingError) -> ForwardStateMachine.Reading {
        let isRepeated = self.selection.read(
            try await self.store.nextForwarded(
                to: self.sink.address.name, except: self.selection.leftOut, limit: limit))
        guard let trackable = self.selection.page.trackable else {
            if self.selection.leftOut.isEmpty { self.health.set(self.sink.address, nil) }
            return .empty
        }
        guard self.isForwarded(trackable), self.selection.hasPoints else {
            self.selection.skip()
            return .nothingToSend
        }
        return isRepeated ? .repeatedPoint : .points
    }

    private mutating func send() async throws(TrackingError) -> ForwardAnswer {
        let page = self.selection.page
        guard let trackable = page.trackable else { return ForwardAnswer(.acknowledged) }
        var batch = ForwardBatch(trackable: trackable, points: page.entries.compactMap(\.location))
        if self.sink.address.kind == .overland {
            if page.hasMore { batch.current = try await self.store.lastPositions(of: [trackable]).first?.location }
            batch.trip = try await self.trip(of: trackable)
        }
        var (answer, count) = await self.sink.send(batch, over: self.client, at: self.clock.moment.wall)
        if case .rejectedContent = answer.verdict, batch.current != nil || batch.trip != nil {
            // Possibly the sink rejects the other content, and not a point.
            (batch.current, batch.trip) = (nil, nil)
            (answer, count) = await self.sink.send(batch, over: self.client, at: self.clock.moment.wall)
        }
        self.selection.sent(count: count)
        if case .rejectedContent = answer.verdict { self.rejection = answer.reason }
        return answer
    }

    /// Returns the trip in progress of a trackable; `nil` for none.
    private func trip(of trackable: TrackableID) async throws(TrackingError) -> Trip? {
        guard let last = self.selection.page.entries.compactMap(\.location).map(\.time).max() else { return nil }
        return try await self.store.trips(
            of: trackable, during: TimeSpan(from: last, to: nil), after: nil, limit: 100
        ).last { $0.state == .active }
    }

    /// Counts and logs the result of a request, and the beginning of a wait after failures.
    private func report(
        _ event: ForwardStateMachine.Event, _ before: ForwardStateMachine, _ state: ForwardStateMachine
    ) {
        let sink = "\(self.sink.address)"
        var failure: String?
        if case .answered(let answer) = event {
            guard answer.verdict != .acknowledged else {
                self.metrics.acknowledged(self.selection.sent.count)
                self.health.set(self.sink.address, nil)
                guard before.failures > 0 else { return }
                self.logger.notice(
                    "Sink acknowledges points again: the forwarder sends the points that are in the queue",
                    metadata: ["sink": "\(sink)"])
                return
            }
            self.metrics.failed()
            if answer.verdict == .failed { failure = answer.reason }
        }
        guard state.failures > before.failures else { return }
        let reason = failure ?? self.rejection
        self.health.set(self.sink.address, reason)
        let metadata: Logger.Metadata = [
            "sink": "\(sink)", "reason": "\(reason)", "failures": "\(state.failures)",
        ]
        if failure != nil {
            self.logger.log(
                level: before.failures == 0 ? .warning : .info,
                "Sink did not acknowledge points: they stay in the queue, and the forwarder sends them again after growing waits",
                metadata: metadata)
        } else {
            self.logger.error(
                "Sink rejected points because of their content and acknowledged none after them, so the fault may be the sink's: the rejected points stay in the queue and are sent again. Check the sink",
                metadata: metadata)
        }
    }
}
