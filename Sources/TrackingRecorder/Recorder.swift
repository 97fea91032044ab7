public import Logging
public import ServiceLifecycle
import Synchronization
public import TrackingCore
import TrackingRuntime
public import TrackingStore

/// Receives the messages of publishers from the broker, stores them in the history, and acknowledges to the devices the
/// records that are durable.
///
///     let recorder = Recorder(configuration: configuration, store: store, intake: intake, voice: voice)
///     try await recorder.run()
///
/// A lost connection or an unavailable store never throws. The recorder waits and then continues.
public final class Recorder<Transport: MessageTransport>: Service {
    private let configuration: RecorderConfiguration
    private let store: any HistoryStore
    private let intake: Transport
    private let voice: Transport
    private let logger: Logger
    private let clock = DeviceClock()
    private let mailbox = Mailbox<RecorderStateMachine.Event>()
    private let deliveries = Broadcast<RecorderEvent>(buffer: 1024, bytes: 1_024 * 1_024, size: { _ in 256 })
    private let shared = Mutex(Shared())
    private let metrics = RecorderMetrics()

    private struct Shared {
        var counts = RecorderCounts()
        var failure: TrackingError?
        var warnings = WarningLimit<String>()
    }

    /// Creates a recorder that is not running yet.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the recorder.
    ///   - store: The history store to write to. The recorder does not close it.
    ///   - intake: The connection that receives the messages. It withholds MQTT acknowledgements until a message is
    ///     stored, and has a session that the broker keeps.
    ///   - voice: The connection that publishes the recorder's liveness and acknowledgements. Its client id is the
    ///     recorder's name.
    ///   - logger: The logger for changes of the recorder's state and for failures.
    public init(
        configuration: RecorderConfiguration, store: any HistoryStore, intake: Transport, voice: Transport,
        logger: Logger = Logger(label: "godwit.recorder")
    ) {
        self.configuration = configuration
        self.store = store
        self.intake = intake
        self.voice = voice
        self.logger = logger
    }

    /// A new stream of this recorder's events, beginning with the next event. A reader that falls behind by more than
    /// 1,024 events loses the oldest ones.
    public var events: AsyncStream<RecorderEvent> { self.deliveries.listen() }

    /// The totals since this recorder was created: the numbers of stored, duplicate and quarantined records, and of
    /// committed batches.
    public var counts: RecorderCounts { self.shared.withLock { $0.counts } }

    /// Requests an orderly stop: the recorder stores the messages that it has received and publishes its goodbye.
    /// ``run()`` returns afterwards.
    public func finish() { self.mailbox.post(.stop) }

    /// Requests that the recorder stops at once, because another recorder takes over: it neither stores nor acknowledges
    /// the messages that it has received, so that the broker delivers them again. ``run()`` returns afterwards.
    public func abandon() { self.mailbox.post(.abandon) }

    /// Receives and stores messages until ``finish()`` is called, the service is shut down gracefully, or the task is
    /// cancelled. Call it once.
    ///
    /// - Throws: `takenOver` when another program uses the recorder's name; `storeUnusable` when the history store can
    ///   never be written.
    public func run() async throws {
        // The recorder cannot check the limit itself, because brokers do not report the length of their queues.
        self.logger.info(
            "Recorder starts: while it is not connected, the broker queues a limited number of messages for it, and drops further ones. For long interruptions, raise the limit of the broker (max_queued_messages of Mosquitto)",
            metadata: ["setting": "max_queued_messages", "details": "docs/reference/recording.md"])
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.intake.run() }
                group.addTask { await self.voice.run() }
                group.addTask {
                    for await events in self.intake.events { await self.mailbox.postAndWait(.intake(events)) }
                }
                group.addTask {
                    for await events in self.voice.events { await self.mailbox.postAndWait(.voice(events)) }
                }
                group.addTask { await self.expectPositions() }
                group.addTask { await self.keepHouse() }
                await self.decide(&group)
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.finish()
        }
        self.deliveries.finish()
        if let failure = self.shared.withLock({ $0.failure }) { throw failure }
    }

    /// Feeds all events to the state machine and performs its actions, until both connections are closed. The machine
    /// is a local variable, so that no other task can change it.
    private func decide(_ group: inout DiscardingTaskGroup) async {
        var machine = RecorderStateMachine(configuration: self.configuration)
        var alarm = Alarm()
        // The receipts of events of the intake connection while the store is behind. The intake connection reads
        // nothing more from the broker until they are resumed.
        var held: [Receipt] = []
        var inbox = Inbox(self.mailbox)
        while let envelope = await inbox.next() {
            for action in machine.happened(envelope.event, at: self.clock.moment) { self.perform(action, &group) }
            self.metrics.note(withheld: machine.withheld, lag: machine.lag(at: self.clock.moment.now))
            if let receipt = envelope.receipt {
                if case .intake = envelope.event { held.append(receipt) } else { receipt.resume() }
            }
            if !machine.isFull {
                for receipt in held { receipt.resume() }
                held = []
            }
            if machine.isClosed { break }
            if let deadline = alarm.arm(machine.nextDeadline, now: self.clock.moment.now) {
                group.addTask {
                    await self.clock.sleep(until: deadline)
                    self.mailbox.post(.timer)
                }
            }
        }
        for receipt in held { receipt.resume() }
        let failure = machine.failure
        self.shared.withLock { $0.failure = failure }
        inbox.close()
    }

    private func perform(_ action: RecorderStateMachine.Action, _ group: inout DiscardingTaskGroup) {
        switch action {
        case .intake(let commands): self.intake.send(commands)
        case .voice(let commands): self.voice.send(commands)
        case .store(let batch): group.addTask { await self.store(batch) }
        case .deliver(let event):
            self.log(event)
            self.metrics.happened(event)
            self.deliveries.deliver(event)
        }
    }

    private func store(_ batch: RecordingBatch) async {
        do throws(TrackingError) {
            let start = self.clock.moment.now
            let report = try await self.store.store(batch)
            self.metrics.stored(report, in: start.duration(to: self.clock.moment.now))
            self.note(report)
            self.mailbox.post(.stored(report.acknowledgements))
        } catch {
            self.mailbox.post(.storeFailed(error))
        }
    }

    /// Informs the state machine which trackables have a position in the history, so that it notices when the broker's
    /// retained positions of them do not arrive. Without an answer of the history, nothing is compared.
    private func expectPositions() async {
        guard let positions = try? await self.store.lastPositions(of: nil) else { return }
        self.mailbox.post(.expect(positions.map(\.trackable)))
    }

    /// Removes records from the history that are older than the configured retention time, now and every hour.
    private func keepHouse() async {
        let (keep, keepOf) = (self.configuration.keep, self.configuration.keepOf)
        guard keep != nil || !keepOf.isEmpty else { return }
        var ages = RetentionClock()
        while !Task.isCancelled {
            do throws(TrackingError) {
                let moment = self.clock.moment
                let now = ages.time(
                    at: moment, newest: try await self.store.newest(),
                    isSynchronized: SystemClockTrust.isSynchronized)
                if now < moment.wall {
                    self.logger.warning(
                        """
                        System clock is not synchronised and is ahead of the newest record: \
                        --keep removes fewer records, because it counts their ages from an earlier time, which \
                        follows from the newest records. \
                        Synchronise the clock
                        """,
                        metadata: ["earlier by": "\(moment.wall.since(now))"])
                }
                for (id, time) in keepOf { try await self.removeExpired(before: now, after: time, of: [id]) }
                if let keep {
                    try await self.removeExpired(before: now, after: keep, except: Set(keepOf.keys))
                }
            } catch {
                self.logger.warning(
                    "Expired records could not be removed from the history: they remain in it until the recorder succeeds. It tries again in an hour",
                    metadata: ["reason": "\(error)"])
            }
            try? await Task.sleep(for: .seconds(3600))
        }
    }

    private func removeExpired(
        before now: UnixTime, after time: Duration, of ids: [TrackableID]? = nil,
        except exceptions: Set<TrackableID> = []
    ) async throws(TrackingError) {
        let limit = UnixTime(now.seconds - time.inSeconds)
        let emptied = try await self.emptied(before: limit, of: ids, except: exceptions)
        let count = try await self.store.removeExpired(before: limit, of: ids, except: exceptions)
        if count > 0 {
            self.logger.info(
                "Expired records were removed from the history: they were older than --keep permits",
                metadata: ["records": "\(count)"])
        }
        if !emptied.isEmpty {
            self.logger.warning(
                "All positions of some trackables expired and were removed from the history: they were older than --keep permits. If these trackables still move, check --keep and their devices",
                metadata: [
                    "count": "\(emptied.count)",
                    "trackables": "\(emptied.prefix(10).map(\.rawValue).joined(separator: " "))",
                ])
        }
    }

    /// Returns the trackables whose every position is older than `limit`, so that removing the records before `limit`
    /// leaves them without a position.
    private func emptied(
        before limit: UnixTime, of ids: [TrackableID]?, except exceptions: Set<TrackableID>
    ) async throws(TrackingError) -> [TrackableID] {
        try await self.store.lastPositions(of: ids)
            .filter { $0.location.time < limit && !exceptions.contains($0.trackable) }.map(\.trackable)
    }

    // MARK: - Logging

    private func note(_ report: StoreReport) {
        let now = self.clock.moment.now
        let verdicts = self.shared.withLock { shared in
            shared.counts.add(report)
            return (
                refused: report.refused > 0 ? shared.warnings.happened("refused", now: now) : .keepQuiet,
                overfull: report.overfull > 0 ? shared.warnings.happened("overfull", now: now) : .keepQuiet
            )
        }
        if case .say = verdicts.refused {
            self.logger.warning(
                "Recorder quarantined messages and records instead of storing them: they are invalid, or the history rejected them. The history's table quarantine has the reason of each",
                metadata: ["messages": "\(report.refused)"])
        }
        if case .say = verdicts.overfull {
            self.logger.warning(
                """
                Recorder rejected records because too many record numbers of their stream are missing: \
                the device keeps the records and sends them again. The recorder stores them after the missing records \
                arrive, or after the device declares these lost
                """,
                metadata: ["streams": "\(report.overfull)"])
        }
    }

    /// Logs `message` about the loss of one of the recorder's two connections to the broker.
    private func logNotConnected(_ message: Logger.Message, purpose: String, _ lost: Disconnection) {
        guard !lost.isRenewal else { return }
        let reason = lost.reason.map { "\($0)" } ?? "closed"
        self.logger.info(message, metadata: ["purpose": "\(purpose)", "reason": "\(reason)"])
    }

    private func log(_ event: RecorderEvent) {
        switch event {
        case .connected(let isPresent):
            self.logger.info(
                "Recorder is storing messages: the broker accepted its connection, and the recorder stores each message that arrives",
                metadata: ["session kept": "\(isPresent)"])
        case .possibleGap:
            self.logger.warning(
                "Broker kept no session for this recorder: messages published while the recorder was not connected may be missing from the history; devices with --acknowledge-by send them again. godwit verify lists the missing records of a trackable"
            )
        case .disconnected(let lost):
            self.logNotConnected(
                "Recorder has no connection to receive messages: the broker queues them, and the recorder tries to connect again",
                purpose: "receiving", lost)
        case .voice(.some(let lost)):
            self.logNotConnected(
                "Recorder has no connection to publish acknowledgements: devices keep their records, and the recorder tries to connect again",
                purpose: "acknowledging", lost)
        case .voice(nil): break
        case .subscriptionRefused(let filter, let error):
            self.logger.error(
                "Broker rejected a subscription of the recorder: the recorder stores no messages that match the filter, and tries again. Grant the right with broker/add-recorder",
                metadata: ["filter": "\(filter)", "reason": "\(error)"])
        case .acknowledgementRefused(let id, let error):
            self.logger.error(
                "Broker rejected an acknowledgement that the recorder published for devices: the records are stored, but devices keep them and send them again. Grant the right with broker/add-recorder",
                metadata: ["trackable": "\(id)", "reason": "\(error)"])
        case .shareDelivered:
            self.logger.info(
                "Broker delivers messages to shared subscriptions, as a test by the recorder showed: the recorders of the group divide the messages among themselves"
            )
        case .shareUndelivered(let isAlone):
            self.logger.error(
                """
                Broker accepted the shared subscription of the recorder's group but delivers no messages to it: \
                \(isAlone
                    ? "this recorder subscribes again without the group and stores all messages, unless --fail-fast ends it"
                    : "this recorder stores nothing, and another recorder of the group stores the messages"). \
                Use a broker with shared subscriptions, or one recorder without --share
                """)
        case .cleared(let count):
            self.logger.info(
                "Recorder cleared the retained messages of clients that have been gone for 7 days: new subscribers no longer receive them",
                metadata: ["messages": "\(count)"])
        case .clearingRefused(let error):
            self.logger.error(
                """
                Broker does not allow the recorder to read or clear the retained messages of clients that are \
                gone: the messages remain. Grant the rights with broker/add-recorder --housekeeper, or start the \
                recorder without --housekeeper
                """,
                metadata: ["reason": "\(error)"])
        case .brokerDropped(let count):
            self.logger.warning(
                "Broker drops messages, because the queue of a client at the broker is full: this client, which may be the recorder or another one, does not receive them. Raise max_queued_messages in the broker's configuration",
                metadata: ["dropped": "\(count)"])
        case .storeAway(let error, let wait):
            var metadata: Logger.Metadata = ["reason": "\(error)"]
            if let wait { metadata["retry in"] = "\(wait)" }
            self.logger.error(
                "History is unavailable: the recorder stores and acknowledges nothing until it is available again; the broker and the devices keep the messages. Follow the reason",
                metadata: metadata)
        case .storeRefuses(let error):
            self.logger.error(
                "History rejected a batch of records: the recorder searches for the invalid records, quarantines them, and stores the other records",
                metadata: ["reason": "\(error)"])
        case .storeBack(let pause):
            self.logger.warning(
                "History is available again: the recorder stores messages", metadata: ["after": "\(pause)"])
        case .failed(let error):
            self.logger.error(
                "Recorder stopped because of an error that it cannot recover from: it stores no more messages. Follow the reason, then start it again",
                metadata: ["reason": "\(error)"])
        }
    }
}

/// The numbers of records and batches that a recorder has stored, received again or quarantined since it was created.
public struct RecorderCounts: Hashable, Sendable {
    /// The number of points, trips and events that were stored and were not in the history before.
    public var stored = 0
    /// The number of points, trips and events that were received again and were in the history already.
    public var duplicates = 0
    /// The number of messages and records that were quarantined because they are invalid or the store rejected them.
    public var refused = 0
    /// The number of batches that were committed to the history store.
    public var commits = 0

    mutating func add(_ report: StoreReport) {
        self.stored += report.stored
        self.duplicates += report.duplicates
        self.refused += report.refused
        self.commits += 1
    }
}
