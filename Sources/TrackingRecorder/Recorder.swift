public import Logging
public import ServiceLifecycle
import Synchronization
public import TrackingCore
import TrackingRuntime
public import TrackingStore

/// Takes in what publishers tell, stores it, and acknowledges what is durable.
///
///     let recorder = Recorder(configuration: configuration, store: store, intake: intake, voice: voice)
///     try await recorder.run()
///
/// Nothing here fails because of the network or of a store that is away: it waits, and goes on.
public final class Recorder<Transport: MessageTransport>: Service {
    private let configuration: RecorderConfiguration
    private let store: any HistoryStore
    private let intake: Transport
    private let voice: Transport
    private let logger: Logger
    private let clock = DeviceClock()
    private let mailbox = Mailbox<RecorderStateMachine.Event>()
    private let told = Broadcast<RecorderEvent>(buffer: 1024, bytes: 1_024 * 1_024, size: { _ in 256 })
    private let shared = Mutex(Shared())
    private let metrics = RecorderMetrics()

    private struct Shared {
        var counts = RecorderCounts()
        var failure: TrackingError?
        var warnings = WarningLimit<String>()
    }

    /// Makes a recorder.
    ///
    /// - Parameters:
    ///   - store: Where it stores; it stays open.
    ///   - intake: The connection that takes in: it withholds acknowledgements, and its session is kept.
    ///   - voice: The connection of the recorder's name.
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

    /// What it tells of itself, from now on.
    public var events: AsyncStream<RecorderEvent> { self.told.listen() }

    /// What it has done so far.
    public var counts: RecorderCounts { self.shared.withLock { $0.counts } }

    /// Takes leave in order, once what came is stored; ``run()`` returns then.
    public func finish() { self.mailbox.post(.stop) }

    /// Runs until ``finish()``, a graceful shutdown, or cancellation. Call it once.
    ///
    /// - Throws: `takenOver` when another program uses the name; `storeUnusable`.
    public func run() async throws {
        // No broker tells how much it queues.
        self.logger.warning(
            "while a recorder stalls the broker queues for it, by its own limits 1000 messages (Mosquitto), and drops what is above: only devices with --acknowledge-by send that again; raise max_queued_messages and max_queued_bytes"
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
        self.told.finish()
        if let failure = self.shared.withLock({ $0.failure }) { throw failure }
    }

    /// The machine is a local variable: nobody else can touch it.
    private func decide(_ group: inout DiscardingTaskGroup) async {
        var machine = RecorderStateMachine(configuration: self.configuration)
        var alarm = Alarm()
        // What takes in waits for room: nothing more is read meanwhile, and the broker is held back.
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
        case .tell(let event):
            self.log(event)
            self.metrics.happened(event)
            self.told.tell(event)
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

    /// Removes what is too old, now and every hour.
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
                        "ages are counted by what was recorded last: nobody vouches for the clock",
                        metadata: ["ahead": "\(moment.wall.since(now))"])
                }
                for (id, time) in keepOf { try await self.removeExpired(before: now, after: time, of: [id]) }
                if let keep {
                    try await self.removeExpired(before: now, after: keep, except: Set(keepOf.keys))
                }
            } catch {
                self.logger.warning("what is too old was not removed", metadata: ["reason": "\(error)"])
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
        if count > 0 { self.logger.info("removed what was too old", metadata: ["records": "\(count)"]) }
        if !emptied.isEmpty {
            self.logger.warning(
                "all positions were too old, and removed",
                metadata: [
                    "trackables": "\(emptied.count)",
                    "of": "\(emptied.prefix(10).map(\.rawValue).joined(separator: " "))",
                ])
        }
    }

    /// The trackables of which no position is left once what is of an earlier time is removed.
    private func emptied(
        before limit: UnixTime, of ids: [TrackableID]?, except exceptions: Set<TrackableID>
    ) async throws(TrackingError) -> [TrackableID] {
        try await self.store.lastPositions(of: ids)
            .filter { $0.location.time < limit && !exceptions.contains($0.trackable) }.map(\.trackable)
    }

    // MARK: - What is told

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
            self.logger.warning("set aside what cannot be accepted", metadata: ["messages": "\(report.refused)"])
        }
        if case .say = verdicts.overfull {
            self.logger.warning(
                "not taken: a stream has too many gaps; the device keeps it",
                metadata: ["streams": "\(report.overfull)"])
        }
    }

    private func logNotConnected(_ connection: String, _ lost: Disconnection) {
        let reason = lost.reason.map { "\($0)" } ?? "closed"
        self.logger.info(
            "not connected", metadata: ["connection": "the one that \(connection)", "reason": "\(reason)"])
    }

    private func log(_ event: RecorderEvent) {
        switch event {
        case .connected(let isPresent):
            self.logger.info("taking in", metadata: ["session kept": "\(isPresent)"])
        case .possibleGap:
            self.logger.warning(
                "the broker kept no session for this recorder: what came while it was away may be missing; devices with --acknowledge-by send it again"
            )
        case .disconnected(let lost): self.logNotConnected("takes in", lost)
        case .voice(.some(let lost)): self.logNotConnected("acknowledges", lost)
        case .voice(nil): break
        case .subscriptionRefused(let filter, let error):
            self.logger.error("not recorded", metadata: ["filter": "\(filter)", "reason": "\(error)"])
        case .acknowledgementRefused(let id, let error):
            self.logger.error(
                "the broker forbids to acknowledge: devices keep what they have",
                metadata: ["trackable": "\(id)", "reason": "\(error)"])
        case .cleared(let count):
            self.logger.info("cleared what clients that are gone left behind", metadata: ["messages": "\(count)"])
        case .clearingRefused(let error):
            self.logger.error(
                "the broker forbids to clear what clients left behind", metadata: ["reason": "\(error)"])
        case .brokerDropped(let count):
            self.logger.warning(
                "the broker drops messages: its queues are too short for a recorder that stalls; raise max_queued_messages",
                metadata: ["dropped": "\(count)"])
        case .storeAway(let error, let wait):
            var metadata: Logger.Metadata = ["reason": "\(error)"]
            if let wait { metadata["retry in"] = "\(wait)" }
            self.logger.error("the store takes nothing", metadata: metadata)
        case .storeRefuses(let error):
            self.logger.error(
                "the store refuses a record: it is looked for, and set aside", metadata: ["reason": "\(error)"])
        case .storeBack(let pause):
            self.logger.warning("the store takes again", metadata: ["after": "\(pause)"])
        case .failed(let error): self.logger.error("it cannot go on", metadata: ["reason": "\(error)"])
        }
    }
}

/// What a recorder has done.
public struct RecorderCounts: Hashable, Sendable {
    /// How many points, trips and events were new.
    public var stored = 0
    /// How many came again.
    public var duplicates = 0
    /// How many messages and records were set aside.
    public var refused = 0
    /// How many commits there were.
    public var commits = 0

    mutating func add(_ report: StoreReport) {
        self.stored += report.stored
        self.duplicates += report.duplicates
        self.refused += report.refused
        self.commits += 1
    }
}
