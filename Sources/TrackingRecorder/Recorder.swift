public import Logging
public import ServiceLifecycle
import Synchronization
public import TrackingCore
import TrackingRuntime
public import TrackingStore

/// Receives the messages of publishers, stores them, and acknowledges records that are durable.
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

    /// Creates a recorder.
    ///
    /// - Parameters:
    ///   - store: The store. The recorder does not close it.
    ///   - intake: The intake connection, which receives the messages. It withholds acknowledgements and has a kept
    ///     session.
    ///   - voice: The member connection, which uses the recorder's name.
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

    /// The recorder's events from now on.
    public var events: AsyncStream<RecorderEvent> { self.deliveries.listen() }

    /// The recorder's totals so far.
    public var counts: RecorderCounts { self.shared.withLock { $0.counts } }

    /// Stops in order: stores the received messages and publishes the goodbye. ``run()`` returns then.
    public func finish() { self.mailbox.post(.stop) }

    /// Runs until ``finish()``, a graceful shutdown, or cancellation. Call it once.
    ///
    /// - Throws: `takenOver` when another program uses the recorder's name; `storeUnusable`.
    public func run() async throws {
        // Brokers do not report the length of their queues.
        self.logger.warning(
            "Broker limits its queue for a recorder that stalls (Mosquitto: 1000 messages) and drops further messages; only devices with --acknowledge-by send them again. Raise max_queued_messages and max_queued_bytes"
        )
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

    /// Runs the machine, which is a local variable, so that no other task can change it.
    private func decide(_ group: inout DiscardingTaskGroup) async {
        var machine = RecorderStateMachine(configuration: self.configuration)
        var alarm = Alarm()
        // The receipts of intake events while the store is full. Without them the intake reads nothing more, and the
        // broker waits.
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

    /// Removes expired records, now and every hour.
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
                        "Retention counts ages from the newest record: the system clock is not synchronised",
                        metadata: ["ahead": "\(moment.wall.since(now))"])
                }
                for (id, time) in keepOf { try await self.removeExpired(before: now, after: time, of: [id]) }
                if let keep {
                    try await self.removeExpired(before: now, after: keep, except: Set(keepOf.keys))
                }
            } catch {
                self.logger.warning("Expired records could not be removed", metadata: ["reason": "\(error)"])
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
        if count > 0 { self.logger.info("Expired records were removed", metadata: ["records": "\(count)"]) }
        if !emptied.isEmpty {
            self.logger.warning(
                "All positions of some trackables expired and were removed",
                metadata: [
                    "trackables": "\(emptied.count)",
                    "of": "\(emptied.prefix(10).map(\.rawValue).joined(separator: " "))",
                ])
        }
    }

    /// Returns the trackables that lose all positions when records before `limit` are removed.
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
            self.logger.warning("Unacceptable messages were quarantined", metadata: ["messages": "\(report.refused)"])
        }
        if case .say = verdicts.overfull {
            self.logger.warning(
                "Records were not accepted: a stream has too many gaps; the device keeps them",
                metadata: ["streams": "\(report.overfull)"])
        }
    }

    private func logNotConnected(_ connection: String, _ lost: Disconnection) {
        let reason = lost.reason.map { "\($0)" } ?? "closed"
        self.logger.info(
            "Recorder is not connected", metadata: ["connection": "\(connection)", "reason": "\(reason)"])
    }

    private func log(_ event: RecorderEvent) {
        switch event {
        case .connected(let isPresent):
            self.logger.info("Recorder is storing messages", metadata: ["session kept": "\(isPresent)"])
        case .possibleGap:
            self.logger.warning(
                "Broker kept no session for this recorder: messages published while it was away may be missing; devices with --acknowledge-by send them again"
            )
        case .disconnected(let lost): self.logNotConnected("intake", lost)
        case .voice(.some(let lost)): self.logNotConnected("acknowledgements", lost)
        case .voice(nil): break
        case .subscriptionRefused(let filter, let error):
            self.logger.error(
                "Broker refused a subscription of the recorder",
                metadata: ["filter": "\(filter)", "reason": "\(error)"])
        case .acknowledgementRefused(let id, let error):
            self.logger.error(
                "Broker refused an acknowledgement: devices keep their records",
                metadata: ["trackable": "\(id)", "reason": "\(error)"])
        case .cleared(let count):
            self.logger.info("Retained messages of departed clients were cleared", metadata: ["messages": "\(count)"])
        case .clearingRefused(let error):
            self.logger.error(
                "Broker refused to clear retained messages of departed clients", metadata: ["reason": "\(error)"])
        case .brokerDropped(let count):
            self.logger.warning(
                "Broker drops messages: its queues are too short for a recorder that stalls; raise max_queued_messages",
                metadata: ["dropped": "\(count)"])
        case .storeAway(let error, let wait):
            var metadata: Logger.Metadata = ["reason": "\(error)"]
            if let wait { metadata["retry in"] = "\(wait)" }
            self.logger.error("Store is unavailable", metadata: metadata)
        case .storeRefuses(let error):
            self.logger.error(
                "Store rejected a record: the recorder searches for it and quarantines it",
                metadata: ["reason": "\(error)"])
        case .storeBack(let pause):
            self.logger.warning("Store is available again", metadata: ["after": "\(pause)"])
        case .failed(let error): self.logger.error("Recorder cannot continue", metadata: ["reason": "\(error)"])
        }
    }
}

/// The totals of a recorder.
public struct RecorderCounts: Hashable, Sendable {
    /// The number of new points, trips and events.
    public var stored = 0
    /// The number of records that were received again.
    public var duplicates = 0
    /// The number of quarantined messages and records.
    public var refused = 0
    /// The number of commits.
    public var commits = 0

    mutating func add(_ report: StoreReport) {
        self.stored += report.stored
        self.duplicates += report.duplicates
        self.refused += report.refused
        self.commits += 1
    }
}
