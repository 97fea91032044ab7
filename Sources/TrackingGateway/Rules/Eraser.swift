import Logging
import ServiceLifecycle
import TrackingCore
import TrackingStore

/// Erases from the files of a running gateway: what another program asks for (``Erasures``), and what the history has erased of a
/// trackable whose position was cleared at the broker.
final class Eraser: Service {
    /// The time between two looks for requests.
    private static let pause = Duration.milliseconds(500)

    private let erasures: Erasures
    private let history: (any HistoryStore)?
    private let intake: Intake?
    private let cleared: AsyncStream<TrackableID>
    private let logger: Logger

    /// - Parameters:
    ///   - history: Says up to which time a trackable was erased; `nil` for none.
    ///   - intake: Has the log of what comes in; `nil` for none.
    ///   - cleared: The trackables whose position was cleared.
    init(
        database: GatewayDatabase, history: (any HistoryStore)?, intake: Intake?, cleared: AsyncStream<TrackableID>,
        logger: Logger
    ) {
        self.erasures = Erasures(database)
        self.history = history
        self.intake = intake
        self.cleared = cleared
        self.logger = logger
    }

    /// Runs until a graceful shutdown or cancellation.
    func run() async {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    var known: [TrackableID: UnixTime] = [:]
                    for await id in self.cleared { await self.eraseCleared(id, &known) }
                }
                group.addTask {
                    while (try? await Task.sleep(for: Self.pause)) != nil { await self.performRequests() }
                }
                await group.waitForAll()
            }
        }
    }

    /// Clearing a position takes no more than the right to write there: only what the history has erased is erased here.
    ///
    /// - Parameter known: The times up to which trackables were erased before.
    private func eraseCleared(_ id: TrackableID, _ known: inout [TrackableID: UnixTime]) async {
        guard let history = self.history else { return }
        await self.trying { () throws(TrackingError) in
            guard let limit = try await history.verify(id)?.erasedBefore, known[id] != limit else { return }
            try await self.erase(id, before: limit)
            known[id] = limit
        }
    }

    private func performRequests() async {
        await self.trying { () throws(TrackingError) in
            for request in try await self.erasures.requests() {
                try await self.erase(request.trackable, before: request.before)
                try await self.erasures.remove(request.number)
            }
        }
    }

    private func erase(_ id: TrackableID, before time: UnixTime?) async throws(TrackingError) {
        try await self.intake?.erase(id, before: time)
        try await self.erasures.erase(id, before: time)
    }

    /// Tries until it is done, or the task is cancelled.
    private func trying(_ body: () async throws(TrackingError) -> Void) async {
        var wait = Duration.seconds(1)
        while !Task.isCancelled {
            do throws(TrackingError) { return try await body() } catch {
                guard !Task.isCancelled else { return }
                self.logger.warning("The gateway's files are not erased yet", metadata: ["reason": "\(error.message)"])
                try? await Task.sleep(for: wait)
                wait = min(wait * 2, .seconds(30))
            }
        }
    }
}
