import Logging
import ServiceLifecycle
import TrackingCore
import TrackingRules
import TrackingStore

/// A service that erases trackables from the files of a running gateway: its log and its database.
///
/// It performs the requests of other processes (``Erasures``). It also acts when the position of a trackable was
/// cleared at the broker. It then erases only the records that the history has erased already.
final class Eraser: Service {
    private static let minimumBackoff = Duration.seconds(1)
    private static let maximumBackoff = Duration.seconds(30)

    private let database: GatewayDatabase
    private let name: String?
    private let history: (any HistoryStore)?
    private let intake: Intake?
    private let cleared: AsyncStream<TrackableID>
    private let logger: Logger

    /// Creates the service that erases trackables from a gateway's files, before it runs.
    ///
    /// - Parameters:
    ///   - database: The gateway's database.
    ///   - name: The name of this gateway among those that share the database (``Erasures/gateway(in:)``); `nil` for a
    ///     database of this gateway alone.
    ///   - history: The recorded history, which knows for each trackable the time before which its records were erased;
    ///     `nil` for none.
    ///   - intake: The publisher of ingested records, with its log; `nil` for none.
    ///   - cleared: The stream of the trackables whose position was cleared at the broker.
    ///   - logger: The logger for failures.
    init(
        database: GatewayDatabase, name: String? = nil, history: (any HistoryStore)?, intake: Intake?,
        cleared: AsyncStream<TrackableID>, logger: Logger
    ) {
        self.database = database
        self.name = name
        self.history = history
        self.intake = intake
        self.cleared = cleared
        self.logger = logger
    }

    /// Erases trackables until a graceful shutdown or cancellation.
    func run() async {
        let changes = self.database.changes()
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    var known: [TrackableID: UnixTime] = [:]
                    for await id in self.cleared { await self.eraseCleared(id, &known) }
                }
                group.addTask {
                    await self.performRequests()
                    for await _ in changes { await self.performRequests() }
                }
                await group.waitForAll()
            }
        }
    }

    /// Erases records of a trackable from the gateway's log and database after the trackable's position was cleared at
    /// the broker. The history stores a time before which it has erased the trackable's records. Only records from
    /// before this time are erased here, because a client that may clear the position must not erase more.
    ///
    /// - Parameter known: For each trackable, the time before which earlier calls erased its records. A call for the
    ///   same time does nothing.
    private func eraseCleared(_ id: TrackableID, _ known: inout [TrackableID: UnixTime]) async {
        guard let history = self.history else { return }
        await self.repeating { () throws(TrackingError) in
            guard let limit = try await history.verify(id)?.erasedBefore, known[id] != limit else { return }
            try await self.erase(id, before: limit)
            known[id] = limit
        }
    }

    private func performRequests() async {
        let erasures = Erasures(self.database)
        await self.repeating { () throws(TrackingError) in
            for request in try await erasures.requests(to: self.name) {
                try await self.erase(request.trackable, before: request.before)
                try await erasures.remove(request.number)
            }
        }
    }

    private func erase(_ id: TrackableID, before time: UnixTime?) async throws(TrackingError) {
        try await self.intake?.erase(id, before: time)
        try await Erasures(self.database).erase(id, before: time)
    }

    /// Performs an erasure, and repeats it until it succeeds or the task is cancelled, with waits between the attempts
    /// that grow from 1 s to 30 s.
    private func repeating(_ operation: () async throws(TrackingError) -> Void) async {
        var backoff = Self.minimumBackoff
        while !Task.isCancelled {
            do throws(TrackingError) { return try await operation() } catch {
                guard !Task.isCancelled else { return }
                self.logger.warning(
                    "A trackable could not be erased from the gateway's files: its records remain in the files, and the gateway tries again until it succeeds. Free space on the disk, or follow the reason",
                    metadata: ["reason": "\(error.message)"])
                try? await Task.sleep(for: backoff)
                backoff = min(backoff * 2, Self.maximumBackoff)
            }
        }
    }
}
