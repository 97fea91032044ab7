import GodwitOptions
import Logging
import ServiceLifecycle
import TrackingCore
import TrackingMQTT
import TrackingRecorder
import TrackingStore

/// The recorder inside a gateway that runs with `--store`. It stores records into the gateway's history, except while a
/// `godwit record` runs on the same SQLite history.
struct BuiltInRecorder: Service {
    /// The gateway's history, into which this recorder stores. The gateway opens and closes it.
    let store: any HistoryStore
    /// The path of the SQLite history; `nil` for a PostgreSQL server, on which several recorders can store at the same
    /// time.
    let file: String?
    let broker: BrokerOptions
    /// The client id of the recorder's connection on which it sends acknowledgements. The recorder has two connections.
    let voice: ClientID
    /// The client id of the recorder's connection on which it receives records. The recorder has two connections.
    let intake: ClientID
    /// `true` if each of the recorder's connections signs in to the broker with its client id as the user.
    let hasUsers: Bool

    private let logger = Logger(label: "godwit.gateway")

    init(
        store: any HistoryStore, file: String?, broker: BrokerOptions, gateway: String, hasUsers: Bool
    ) throws(TrackingError) {
        self.store = store
        self.file = file
        self.broker = broker
        self.voice = try ClientID("\(gateway)-recorder")
        self.intake = try ClientID("\(gateway)-recorder-intake")
        self.hasUsers = hasUsers
    }

    /// Runs the recorder until a graceful shutdown or cancellation.
    ///
    /// - Throws: `takenOver` when another program connects with the recorder's client id; `storeUnusable` if the
    ///   history cannot be used.
    func run() async throws {
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            if self.isRecordedByAnother {
                self.logger.info(
                    "Built-in recorder of the gateway is off, because another recorder stores into the same history; it stores again when that recorder ends"
                )
                await self.endSession()
                await self.wait(untilHeld: false)
            } else {
                try await self.record()
            }
        }
    }

    private var isRecordedByAnother: Bool { self.file.map(RecorderLock.isHeld) ?? false }

    /// Waits until another recorder holds the lock of the history (if `isHeld` is `true`), or until none does (if
    /// `isHeld` is `false`). Also returns when a shutdown is requested. A PostgreSQL history has no such lock, and then
    /// only a shutdown ends the wait.
    private func wait(untilHeld isHeld: Bool) async {
        await cancelWhenGracefulShutdown {
            if let file = self.file {
                _ = await RecorderLock.wait(untilHeld: isHeld, history: file)
            } else {
                let (nothing, sender) = AsyncStream.makeStream(of: Never.self)
                for await _ in nothing {}
                sender.finish()
            }
        }
    }

    /// Runs the recorder until a shutdown is requested, or until another recorder begins to store into the same
    /// history.
    private func record() async throws {
        let recorder = try await self.recorder()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await recorder.run()
                return true
            }
            group.addTask {
                await self.wait(untilHeld: true)
                if !Task.isCancelled { recorder.finish() }
                return false
            }
            while let hasEnded = try await group.next() { if hasEnded { group.cancelAll() } }
        }
    }

    private func recorder() async throws -> Recorder<MQTTTransport> {
        var configuration = RecorderConfiguration(client: self.voice, session: try self.broker.identity().session)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.isFirstRun = (try? await self.store.trackables(after: nil, limit: 1).isEmpty) ?? false
        return Recorder(
            configuration: configuration, store: self.store,
            intake: try self.broker.intake(
                self.intake, receiveMaximum: RecorderConfiguration.receiveMaximum,
                user: self.user(of: self.intake), certificate: nil, key: nil),
            voice: try self.broker.transport(for: configuration, user: self.user(of: self.voice)))
    }

    private func user(of client: ClientID) -> String? { self.hasUsers ? client.rawValue : nil }

    /// Ends the session that the broker keeps for the receiving connection. The broker then queues no messages for it
    /// while the built-in recorder is off.
    private func endSession() async {
        guard let transport = try? self.broker.transport(self.intake, user: self.user(of: self.intake)) else { return }
        await withTaskGroup { group in
            group.addTask {
                await transport.run()
                return true
            }
            group.addTask {
                for await events in transport.events {
                    let isConnected = events.contains { if case .connected = $0 { true } else { false } }
                    if isConnected { transport.send([.close(within: .zero)]) }
                }
                return false
            }
            group.addTask {
                try? await Task.sleep(for: .seconds(10))
                transport.send([.close(within: .zero)])
                return false
            }
            for await hasEnded in group where hasEnded { group.cancelAll() }
        }
    }
}
