import class CoreMetrics.Meter
import GodwitOptions
import Logging
import ServiceLifecycle
import Synchronization
import TrackingCore
import TrackingMQTT
import TrackingRecorder
import TrackingRuntime
import TrackingStore

/// Runs a recorder while it has the lease of its name, and otherwise waits for the lease. ``StandbyStateMachine`` decides
/// which of both it does.
final class StandbyRecorder: Service {
    /// The recorder that this program runs while it has the lease.
    private struct Running {
        var recorder: Recorder<MQTTTransport>?
        /// `true` if the recorder was abandoned, perhaps before it was made.
        var isAbandoned = false
    }

    private let lease: RecorderLease
    private let store: PostgresHistoryStore
    private let watch: RecorderWatch
    private let makeRecorder: @Sendable () async throws -> Recorder<MQTTTransport>
    private let clock = DeviceClock()
    private let mailbox = Mailbox<StandbyStateMachine.Event>()
    private let running = Mutex(Running())
    private let isActive = Meter(label: "godwit_recorder_active")
    private let logger = Logger(label: "godwit.recorder")

    /// Creates a recorder that waits for the lease once it runs.
    ///
    /// - Parameters:
    ///   - lease: The lease that all recorders of the same name share.
    ///   - store: The history, which accepts records only while this recorder has the lease.
    ///   - watch: Reports the state of the active recorder.
    ///   - makeRecorder: Makes a recorder that is not running yet, each time that this program becomes active.
    init(
        lease: RecorderLease, store: PostgresHistoryStore, watch: RecorderWatch,
        makeRecorder: @escaping @Sendable () async throws -> Recorder<MQTTTransport>
    ) {
        self.lease = lease
        self.store = store
        self.watch = watch
        self.makeRecorder = makeRecorder
        self.isActive.set(0)
        watch.health.waits(true)
        store.require(lease)
    }

    /// Waits for the lease and records, again and again, until a shutdown is requested or the recorder fails. Then
    /// releases the lease.
    func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                await self.decide(&group)
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.mailbox.post(.stop)
            self.endMaking()
        }
        // Not a child task: a cancelled program releases the lease too, and a cancelled task cannot use the database.
        await Task { await self.lease.release() }.value
        self.lease.close()
        if let error = self.watch.ending.error { throw error }
    }

    /// Feeds all events to the state machine and performs its actions, until the program ends.
    private func decide(_ group: inout DiscardingTaskGroup) async {
        var machine = StandbyStateMachine(now: self.clock.moment.now)
        var alarm = Alarm()
        var inbox = Inbox(self.mailbox)
        self.mailbox.post(.timer)
        while let envelope = await inbox.next() {
            for action in machine.happened(envelope.event, now: self.clock.moment.now) { self.perform(action, &group) }
            if machine.isEnded { break }
            if let deadline = alarm.arm(machine.nextDeadline, now: self.clock.moment.now) {
                group.addTask {
                    await self.clock.sleep(until: deadline)
                    self.mailbox.post(.timer)
                }
            }
        }
        inbox.close()
    }

    private func perform(_ action: StandbyStateMachine.Action, _ group: inout DiscardingTaskGroup) {
        switch action {
        case .claim: group.addTask { await self.claim() }
        case .start:
            self.running.withLock { $0 = Running() }
            group.addTask { await self.record() }
        case .abandon:
            self.running.withLock { running in
                running.isAbandoned = true
                running.recorder?.abandon()
            }
            self.endMaking()
        case .reconnect: self.store.reconnect()
        case .release: group.addTask { await self.lease.release() }
        case .report(let change): self.report(change)
        }
    }

    /// Ends a read of the database that delays a new recorder, perhaps because the server gives no answer.
    private func endMaking() {
        if self.running.withLock({ $0.recorder == nil }) { self.store.reconnect() }
    }

    private func claim() async {
        do throws(TrackingError) {
            self.mailbox.post(.answered(try await self.lease.claim()))
        } catch {
            self.mailbox.post(.failed(error))
        }
    }

    /// Runs a new recorder until it ends. After some errors, the program waits and tries again.
    private func record() async {
        var passing: TrackingError?
        do {
            try await self.run(try await self.makeRecorder())
        } catch let error as TrackingError where error.code == .takenOver || error.code == .storeFailed {
            passing = error
        } catch {
            self.watch.ending.note(error)
        }
        self.running.withLock { $0.recorder = nil }
        self.mailbox.post(.recorderEnded(passing))
    }

    private func run(_ recorder: Recorder<MQTTTransport>) async throws {
        let isAbandoned = self.running.withLock { running in
            running.recorder = recorder
            return running.isAbandoned
        }
        if isAbandoned {
            // A new recorder counts as active.
            self.isActive.set(0)
            return
        }
        let events = recorder.events
        async let watching: Void = self.watch(events, of: recorder)
        let result: Result<Void, any Error>
        do { result = .success(try await recorder.run()) } catch { result = .failure(error) }
        await watching
        try result.get()
    }

    private func watch(_ events: AsyncStream<RecorderEvent>, of recorder: Recorder<MQTTTransport>) async {
        for await event in events {
            self.watch.report(event, of: recorder)
            switch event {
            case .connected: self.mailbox.post(.broker(isConnected: true))
            case .disconnected(let lost) where !lost.isRenewal: self.mailbox.post(.broker(isConnected: false))
            default: break
            }
        }
    }

    private func report(_ change: StandbyChange) {
        let name: Logger.Metadata = ["name": "\(self.lease.name)"]
        switch change {
        case .waiting:
            self.watch.notifier?.status("waiting: another recorder is active")
            self.logger.info(
                "Recorder waits: another recorder with its name is active, and this recorder takes over when that one ends",
                metadata: name)
        case .active:
            self.note(isActive: true)
            self.logger.info(
                "Recorder is active: the database gave it the lease of its name, so no other recorder with this name receives messages",
                metadata: name)
        case .lost(let loss):
            self.note(isActive: false)
            self.watch.notifier?.status("waiting")
            self.logger.warning(
                "Recorder stops receiving messages, so that another recorder with its name can take over. It waits until it can become active again",
                metadata: ["name": "\(self.lease.name)", "reason": "\(Self.reason(of: loss))"])
        case .databaseAway(let error):
            self.logger.error(
                "Recorder could not request its lease from the database: without the lease it receives no messages. It tries again every second. Check the database server",
                metadata: ["reason": "\(error)"])
        }
    }

    private func note(isActive: Bool) {
        self.isActive.set(isActive ? 1 : 0)
        self.watch.health.waits(!isActive)
    }

    private static func reason(of loss: StandbyChange.Loss) -> String {
        switch loss {
        case .expired: "the lease could not be renewed in time"
        case .superseded: "another recorder has the lease"
        case .failed(let error): error.message
        case .disconnected: "no connection to the broker for \(StandbyStateMachine.brokerPatience)"
        }
    }
}
