public import Logging
public import ServiceLifecycle
import Synchronization
public import TrackingCore
public import TrackingPublisher

/// Publishes the records that the gateway receives from phones and other clients, as a device publishes its own
/// records.
///
///     let names = try await intake.take(drafts, for: id, within: .seconds(20))     // while it runs
///
/// Records are durable once ``take(_:for:within:)`` returns. They are then in the gateway's log, the broker has
/// acknowledged them, and the configured recorders have stored them. After an error the caller may give the same
/// records again: each record is stored only once.
public final class Intake: Service {
    private let running: @Sendable () async throws -> Void
    private let taking: @Sendable ([RecordDraft], TrackableID, Duration) async throws(TrackingError) -> [RecordName]
    private let forgetting: @Sendable (TrackableID, Location?) -> Void
    private let erasing: @Sendable (TrackableID, UnixTime?) async throws(TrackingError) -> Void
    private let waiting: @Sendable () async -> PublisherSnapshot.Unrecorded?
    private let connections: AsyncStream<Disconnection?>
    private let receivedCommands: AsyncStream<ReceivedCommand>
    /// The part of the intake that passes commands from the broker to phones; `nil` if the gateway accepts no commands
    /// for phones.
    let commands: PhoneCommandDesk?
    private let connection = Mutex(false)
    private let logger: Logger
    /// The number of records whose senders wait now until they are durable: published, and stored by the recorders.
    private let underWay = Mutex(0)

    /// The largest number of records that are being made durable at once. A batch that would exceed this number is
    /// rejected and may be repeated. A batch of any size is accepted while no other one is being made durable.
    private let maximumUnderWay: Int

    /// Creates an intake. It accepts records while ``run()`` runs.
    ///
    /// - Parameters:
    ///   - configuration: The identity of the intake at the broker, and the recorders that must store its records.
    ///   - transport: The connection to the broker. The intake runs and closes it.
    ///   - spool: The storage of the gateway's log, to which each record is appended before it is published.
    ///   - maximumUnderWay: The largest number of records that are being made durable at once, > 0. A single batch may
    ///     have more if there is no other.
    ///   - logger: The logger for failures.
    public init<Transport: MessageTransport>(
        configuration: PublisherConfiguration, transport: Transport, spool: any SpoolStorage,
        maximumUnderWay: Int = 50_000, logger: Logger = Logger(label: "godwit.intake")
    ) {
        var configuration = configuration
        configuration.limits = SpoolLimits()
        // The intake has no receiver, so a requested resolution has no effect.
        configuration.sensorResolution = configuration.defaultResolution
        let publisher = AssetPublisher(
            configuration: configuration, transport: transport, spool: spool, logger: logger)
        publisher.drain()
        self.connections = publisher.connectionChanges
        self.running = { try await publisher.run() }
        self.taking = { (drafts, id, limit) async throws(TrackingError) in
            try await publisher.take(drafts, for: id, within: limit)
        }
        self.receivedCommands = publisher.commands
        self.commands =
            configuration.takesCommands ? PhoneCommandDesk { publisher.answer($0, to: $1) } : nil
        self.forgetting = { publisher.forgetPosition(of: $0, through: $1) }
        self.erasing = { (id, time) async throws(TrackingError) in try await publisher.erase(id, before: time) }
        self.waiting = { await publisher.snapshot()?.unrecorded }
        self.maximumUnderWay = maximumUnderWay
        self.logger = logger
    }

    /// Publishes ingested records until a graceful shutdown or cancellation. Call this function once.
    ///
    /// - Throws: `takenOver` when another program uses the client id; `spoolFailed` when the log cannot be opened.
    public func run() async throws {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await change in self.connections { self.connection.withLock { $0 = change == nil } }
                }
                if let commands = self.commands {
                    group.addTask { for await command in self.receivedCommands { commands.receive(command) } }
                }
                try await self.running()
                group.cancelAll()
            }
        } catch {
            // A client whose request was rejected during shutdown repeats it. Records in the log are sent after the
            // next start.
            guard Task.isShuttingDownGracefully || Task.isCancelled else { throw error }
            self.logger.warning(
                "Publishing of ingested records ended with an error while the program stopped: records that are not published yet stay in its log, and the program publishes them after its next start",
                metadata: ["reason": "\(error)"])
        }
    }

    /// `true` while the intake is connected to the broker.
    public var isConnected: Bool { self.connection.withLock { $0 } }

    /// Returns the number of ingested records that the recorders have not acknowledged yet, the time for which they
    /// have waited, and the recorders' names. `nil` if there are no such records, or no recorder is needed.
    func unrecorded() async -> PublisherSnapshot.Unrecorded? { await self.waiting() }

    /// Publishes records of one trackable, and returns once they are durable: acknowledged by the broker and stored by
    /// the configured recorders.
    ///
    /// - Parameters:
    ///   - drafts: The records.
    ///   - id: The trackable.
    ///   - limit: The longest time to wait.
    /// - Returns: The names of the records (stream and number), in the same order.
    /// - Throws: `overloaded` if too many records are being made durable, and the errors of
    ///   ``/TrackingPublisher/AssetPublisher/take(_:for:within:)``.
    @discardableResult
    public func take(
        _ drafts: [RecordDraft], for id: TrackableID, within limit: Duration
    ) async throws(TrackingError) -> [RecordName] {
        try self.begin(drafts.count)
        defer { self.underWay.withLock { $0 -= drafts.count } }
        return try await self.taking(drafts, id, limit)
    }

    /// Prevents that a trackable's positions up to the position `watermark` are published again as live positions,
    /// after its position was cleared at the broker. See ``AssetPublisher/forgetPosition(of:through:)``.
    func forgetPosition(of id: TrackableID, through watermark: Location?) { self.forgetting(id, watermark) }

    /// Erases the records of a trackable from the gateway's log: those before `time`, or all. See
    /// ``AssetPublisher/erase(_:before:)``.
    func erase(_ id: TrackableID, before time: UnixTime?) async throws(TrackingError) {
        try await self.erasing(id, time)
    }

    private func begin(_ count: Int) throws(TrackingError) {
        let isRoom = self.underWay.withLock { underWay in
            // If no other batch is being made durable, a batch of any size is accepted.
            guard underWay == 0 || underWay + count <= self.maximumUnderWay else { return false }
            underWay += count
            return true
        }
        guard isRoom else {
            throw TrackingError(
                .overloaded,
                "cannot accept \(count) records: the gateway is still saving too many others; send them again a little later"
            )
        }
    }
}
