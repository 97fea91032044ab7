package import Logging
import ServiceLifecycle
import Synchronization
package import TrackingCore
import TrackingRules
import TrackingRuntime

/// Takes in what OwnTracks publishes on the broker. A message is acknowledged once its records are safe, where the connection
/// withholds acknowledgements: what was not comes again. Acknowledgements go in order, so what does not become safe in time,
/// of one trackable that the broker refuses say, is left to the log that has it, and holds up nobody else.
package final class OwnTracksReceiver<Transport: MessageTransport>: Service {
    /// Makes records safe within a time; throws ``TrackingError/isOfLog`` where they are not in the log either.
    package typealias Take = @Sendable (TrackableID, PhoneBatch, Duration) async throws(TrackingError) -> Void

    /// The most trackables that are remembered as late.
    private static var maximumLate: Int { 10_000 }

    private let reader: OwnTracksReader
    private let transport: Transport
    private let take: Take
    private let quarantine: Quarantine
    private let failsFast: Bool
    private let logger: Logger
    private let bad: BadMessages
    private let clock = DeviceClock()
    /// Of whom something was left to the log: the next is not waited for as long.
    private let late = Mutex<Set<TrackableID>>([])

    /// Makes a receiver that hears nothing yet.
    ///
    /// - Parameters:
    ///   - transport: The connection; it is run and closed by this receiver.
    ///   - take: Makes records safe.
    ///   - failsFast: Whether it ends when it cannot connect.
    package init(
        reader: OwnTracksReader, transport: Transport, quarantine: Quarantine, failsFast: Bool = false,
        logger: Logger = Logger(label: "godwit.bridge"), take: @escaping Take
    ) {
        self.reader = reader
        self.transport = transport
        self.take = take
        self.quarantine = quarantine
        self.failsFast = failsFast
        self.logger = logger
        self.bad = BadMessages(logger: logger)
    }

    /// Runs until a graceful shutdown or cancellation. Call it once.
    ///
    /// - Throws: Why it cannot connect, where that is no reason to wait.
    package func run() async throws {
        try await self.transport.run(beside: { try await self.listen() })
    }

    private func listen() async throws(TrackingError) {
        // The number of messages received on the current connection.
        var received = (count: 0, connection: 0)
        for await events in self.transport.events {
            var batches: [TrackableID: PhoneBatch] = [:]
            for event in events {
                switch event {
                case .connected(let connection, _):
                    received = (0, connection)
                    self.transport.send([.subscribe(self.reader.filters, 0)])
                case .received(let message):
                    received.count += 1
                    guard let (id, batch) = self.read(message) else { continue }
                    batches[id, default: PhoneBatch()].records += batch.records
                    batches[id, default: PhoneBatch()].refused += batch.refused
                    batches[id, default: PhoneBatch()].corrections += batch.corrections
                case .subscribed(_, let refusals): self.note(refusals)
                case .disconnected(let lost): try self.note(lost)
                case .published: break
                }
            }
            await self.keep(batches)
            guard !Task.isCancelled else { return }
            if received.count > 0 {
                self.transport.send([.acknowledge(through: received.count, connection: received.connection)])
            }
        }
    }

    private func read(_ message: IncomingMessage) -> (TrackableID, PhoneBatch)? {
        let moment = self.clock.moment
        switch self.reader.read(message, receivedAt: moment.wall) {
        case .batch(let id, let batch): return (id, batch)
        case .ignored: return nil
        case .refused(let error):
            self.bad.skipped(message.topic, error, now: moment.now)
            return nil
        }
    }

    // MARK: Keeping

    private func keep(_ batches: [TrackableID: PhoneBatch]) async {
        await withDiscardingTaskGroup { group in
            for (id, batch) in batches { group.addTask { await self.keep(batch, of: id) } }
        }
    }

    /// Returns when all of it is safe, or in the log, or the task is cancelled.
    private func keep(_ batch: PhoneBatch, of id: TrackableID) async {
        if !batch.records.isEmpty {
            await self.untilDone(id) { () throws(TrackingError) in
                let patience: Duration = self.late.withLock { $0.contains(id) } ? .seconds(1) : Intake.patience
                do throws(TrackingError) {
                    try await self.take(id, batch, patience)
                    self.late.withLock { _ = $0.remove(id) }
                } catch {
                    guard !error.isOfLog else { throw error }
                    self.isLate(id, error)
                }
            }
        }
        let refused = batch.refused
        guard !refused.isEmpty else { return }
        self.logger.debug("records were refused", metadata: ["trackable": "\(id)", "count": "\(refused.count)"])
        let now = self.clock.moment.wall
        await self.untilDone(id) { () throws(TrackingError) in
            try await self.quarantine.add(refused, of: id, from: "OwnTracks on the broker", at: now)
        }
    }

    private func isLate(_ id: TrackableID, _ error: TrackingError) {
        let isNew = self.late.withLock { late in
            if late.count >= Self.maximumLate { late = [] }
            return late.insert(id).inserted
        }
        guard isNew else { return }
        self.logger.warning(
            "not safe yet; it is in the log, and tried on", metadata: ["trackable": "\(id)", "reason": "\(error)"])
    }

    /// Tries until it is done, or the task is cancelled, with waits up to 30 s.
    private func untilDone(_ id: TrackableID, _ work: () async throws(TrackingError) -> Void) async {
        var backoff = Backoff(first: .seconds(1), maximum: .seconds(30))
        while !Task.isCancelled {
            do throws(TrackingError) {
                return try await work()
            } catch {
                guard !Task.isCancelled else { return }
                let wait = backoff.next()
                self.logger.warning(
                    "not taken; it is tried again",
                    metadata: ["trackable": "\(id)", "reason": "\(error)", "retry in": "\(wait)"])
                try? await Task.sleep(for: wait)
            }
        }
    }

    // MARK: Telling

    private func note(_ refusals: [TrackingError?]) {
        let refused = zip(self.reader.filters, refusals).filter { $1 != nil }
        for (filter, error) in refused {
            self.logger.error(
                "not taken in", metadata: ["filter": "\(filter)", "reason": "\(error.map { "\($0)" } ?? "")"])
        }
        if refused.isEmpty { self.logger.info("listening to OwnTracks") }
    }

    private func note(_ lost: Disconnection) throws(TrackingError) {
        guard let reason = lost.reason else { return }
        if lost.retry == nil || self.failsFast && lost.failure != nil { throw reason }
    }
}

extension TrackingError {
    /// `true` if the log did not accept the records.
    var isOfLog: Bool {
        switch self.code {
        case .spoolFailed, .spoolDamaged, .overloaded, .stopped: true
        default: false
        }
    }
}
