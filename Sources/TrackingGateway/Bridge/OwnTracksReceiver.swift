package import Logging
import ServiceLifecycle
import Synchronization
package import TrackingCore
import TrackingRules
import TrackingRuntime

/// Receives the messages that OwnTracks apps publish on the broker, and ingests their records.
///
/// The receiver acknowledges a message to the broker only after its records are in the gateway's log. Before the
/// acknowledgement it also waits, for a limited time, until the records are published and stored by the recorders.
/// Without an acknowledgement the broker sends the message again.
package final class OwnTracksReceiver<Transport: MessageTransport>: Service {
    /// A function that makes the records of a trackable durable, within the given time. If it throws an error with
    /// ``TrackingError/isOfLog``, the gateway's log does not have the records, and the caller must repeat the call with
    /// the same records. After any other error the log has the records.
    package typealias Take = @Sendable (TrackableID, PhoneBatch, Duration) async throws(TrackingError) -> Void

    /// The largest number of trackables that the receiver remembers as late: their last records could not be published
    /// in time. Beyond this number the receiver forgets all of them.
    private static var maximumLate: Int { 10_000 }

    private let reader: OwnTracksReader
    private let transport: Transport
    private let take: Take
    private let quarantine: Quarantine
    private let failsFast: Bool
    private let logger: Logger
    private let bad: BadMessages
    private let clock = DeviceClock()
    /// The trackables whose last records are in the gateway's log but could not be published in time. For their next
    /// records, the receiver waits only 1 s for the publishing.
    private let late = Mutex<Set<TrackableID>>([])

    /// Creates a receiver of the messages of OwnTracks apps, which is not connected to the broker yet.
    ///
    /// - Parameters:
    ///   - reader: Reads the OwnTracks messages.
    ///   - transport: The connection to the broker. The receiver runs and closes it.
    ///   - quarantine: Stores the invalid pieces of messages.
    ///   - failsFast: `true` to end with an error when the broker cannot be reached at any of its addresses, at the
    ///     start or after a lost connection.
    ///   - logger: The logger for refusals and failures.
    ///   - take: Makes records durable.
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

    /// Receives messages until a graceful shutdown or cancellation. Call it once.
    ///
    /// - Throws: `takenOver` when the broker reports that another program uses the client id; the reason for which the
    ///   connection ended for good, or for which it could not be made if the receiver is to fail fast.
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
                case .connected(let connection, _, _):
                    received = (0, connection)
                    self.transport.send([.subscribe(self.reader.filters, 0)])
                case .received(let message):
                    received.count += 1
                    guard let (id, batch) = self.read(message) else { continue }
                    batches[id, default: PhoneBatch()].records += batch.records
                    batches[id, default: PhoneBatch()].refused += batch.refused
                    batches[id, default: PhoneBatch()].corrections += batch.corrections
                case .subscribed(_, let refusals): self.note(refusals)
                case .disconnected(let lost):
                    if let error = lost.endingError(failsFast: self.failsFast) { throw error }
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

    /// Saves a batch: its records in the gateway's log, and then its invalid pieces in the quarantine. Waits for a
    /// limited time until the records are published and stored too. Tries again until both are saved or the task is
    /// cancelled.
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
        self.logger.debug(
            "OwnTracks bridge puts invalid messages of a phone, or the invalid parts of a message, into its quarantine and publishes the rest",
            metadata: ["trackable": "\(id)", "count": "\(refused.count)"])
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
            "OwnTracks records of a trackable are in the bridge's log, but the broker or a recorder has not acknowledged them within the time limit: the bridge acknowledges the phone's messages, and sends the records again. Check the broker and the recorder",
            metadata: ["trackable": "\(id)", "time limit": "\(Intake.patience)", "reason": "\(error)"])
    }

    /// Repeats an operation until it succeeds or the task is cancelled, with waits between the attempts that grow from
    /// 1 s to 30 s.
    private func untilDone(_ id: TrackableID, _ work: () async throws(TrackingError) -> Void) async {
        var backoff = Backoff(first: .seconds(1), maximum: .seconds(30))
        while !Task.isCancelled {
            do throws(TrackingError) {
                return try await work()
            } catch {
                guard !Task.isCancelled else { return }
                let wait = backoff.next()
                self.logger.warning(
                    "OwnTracks bridge could not write received messages of a trackable to the bridge's log or quarantine: it does not acknowledge the messages, and tries again. Free space on the disk, or follow the reason",
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
                "Broker rejected a subscription of the OwnTracks bridge: the bridge receives no messages that match the filter, and subscribes again only when it connects again. Grant the right with broker/add-bridge, then start the bridge again",
                metadata: ["filter": "\(filter)", "reason": "\(error.map { "\($0)" } ?? "")"])
        }
        if refused.isEmpty { self.logger.info("OwnTracks bridge is connected and receives messages") }
    }
}

extension TrackingError {
    /// `true` for an error that means that the gateway's log does not have the records.
    var isOfLog: Bool {
        switch self.code {
        case .spoolFailed, .spoolDamaged, .overloaded, .stopped: true
        default: false
        }
    }
}
