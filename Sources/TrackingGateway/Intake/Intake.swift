public import Logging
public import ServiceLifecycle
import Synchronization
public import TrackingCore
public import TrackingPublisher

/// Publishes what comes in by HTTP under the protocol, as a device publishes what it records.
///
///     let names = try await intake.take(drafts, for: id, within: .seconds(20))     // while it runs
///
/// What it returned for is safe: in its log, taken by the broker, and stored by the recorders it was told to wait for. What
/// it threw for may be sent again as it is: what was taken keeps its names and is stored once.
public final class Intake: Service {
    private let running: @Sendable () async throws -> Void
    private let taking: @Sendable ([RecordDraft], TrackableID, Duration) async throws(TrackingError) -> [RecordName]
    private let forgetting: @Sendable (TrackableID, Location?) -> Void
    private let erasing: @Sendable (TrackableID, UnixTime?) async throws(TrackingError) -> Void
    private let waiting: @Sendable () async -> PublisherSnapshot.Unrecorded?
    private let connections: AsyncStream<Disconnection?>
    private let receivedCommands: AsyncStream<ReceivedCommand>
    /// The commands that wait for phones; `nil` where the configuration takes no commands.
    let commands: PhoneCommandDesk?
    private let connection = Mutex(false)
    private let logger: Logger
    /// How many records are being taken.
    private let underWay = Mutex(0)

    /// The most records that are under way together: what is more is refused, and comes again.
    private let maximumUnderWay: Int

    /// Makes an intake that takes nothing yet.
    ///
    /// - Parameters:
    ///   - configuration: Who it is to the broker, and the recorders it waits for.
    ///   - spool: Its log. It has no limits: nothing that was answered is let go unsent.
    ///   - maximumUnderWay: The most records that are under way together, > 0; a batch that comes alone may have more.
    public init<Transport: MessageTransport>(
        configuration: PublisherConfiguration, transport: Transport, spool: any SpoolStorage,
        maximumUnderWay: Int = 50_000, logger: Logger = Logger(label: "godwit.intake")
    ) {
        var configuration = configuration
        configuration.limits = SpoolLimits()
        // Nobody's receiver is asked for anything.
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

    /// Runs until a graceful shutdown or cancellation. Call it once.
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
            // Whoever was refused at the end comes again; what is in the log goes out the next time.
            guard Task.isShuttingDownGracefully || Task.isCancelled else { throw error }
            self.logger.warning("not everything went out", metadata: ["reason": "\(error)"])
        }
    }

    /// Whether it is connected to the broker.
    public var isConnected: Bool { self.connection.withLock { $0 } }

    /// Returns the records that wait for a recorder; `nil` where none waits.
    func unrecorded() async -> PublisherSnapshot.Unrecorded? { await self.waiting() }

    /// Takes records of one trackable, and returns when they are safe: see ``AssetPublisher/take(_:for:within:)``.
    ///
    /// - Returns: Their names, in their order.
    /// - Throws: `overloaded` where too much is under way; what the publisher throws.
    @discardableResult
    public func take(
        _ drafts: [RecordDraft], for id: TrackableID, within limit: Duration
    ) async throws(TrackingError) -> [RecordName] {
        try self.begin(drafts.count)
        defer { self.underWay.withLock { $0 -= drafts.count } }
        return try await self.taking(drafts, id, limit)
    }

    /// Where a trackable was is not told again: see ``AssetPublisher/forgetPosition(of:through:)``.
    func forgetPosition(of id: TrackableID, through told: Location?) { self.forgetting(id, told) }

    /// Erases the records of a trackable from the log: see ``AssetPublisher/erase(_:before:)``.
    func erase(_ id: TrackableID, before time: UnixTime?) async throws(TrackingError) {
        try await self.erasing(id, time)
    }

    private func begin(_ count: Int) throws(TrackingError) {
        let isRoom = self.underWay.withLock { underWay in
            // One batch goes by itself, however large.
            guard underWay == 0 || underWay + count <= self.maximumUnderWay else { return false }
            underWay += count
            return true
        }
        guard isRoom else {
            throw TrackingError(.overloaded, "too many records are under way; send them again a little later")
        }
    }
}
