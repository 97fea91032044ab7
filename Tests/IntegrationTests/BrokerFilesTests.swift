import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// The broker's own files, started as they are, against every topic and role: exactly the least grants of docs/protocol.md.
@Suite(.serialized) struct BrokerFilesTests {
    private static let users = ["dev", "dev2", "eye", "rec", "boss", "nobody"]

    /// The topics of the trackable `van`, and the users that may write each.
    private static let writers: [(String, Set<String>)] = [
        ("van", ["dev"]), ("van/raw", ["dev"]), ("van/history", ["dev"]), ("van/publisher/dev", ["dev"]),
        ("van/publisher/eye", []), ("van/resolution", ["dev"]), ("van/trip", ["dev"]), ("van/event", ["dev"]),
        ("van/subscriber/eye", ["eye"]), ("van/request/eye", ["eye"]), ("van/subscriber/dev", []),
        ("van/ack/rec", ["rec"]),
        ("van/ack/dev", []), ("van/command", ["boss"]), ("_clients/dev", ["dev"]), ("_clients/eye", ["eye"]),
        ("_clients/rec", ["rec"]), ("car", ["dev2"]), ("car/ack/rec", ["rec"]), ("other", []),
    ]

    private func start() async throws -> (MosquittoProcess, URL) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-files-\(UUID().uuidString)")
        try FileManager.default.copyItem(at: Programs.root.appending(path: "broker"), to: folder)
        try await Self.shell("certs/generate.sh ca && certs/generate.sh server localhost 127.0.0.1", in: folder)
        try await Self.shell(
            "export GODWIT_PASSWORD=pw; ./add-device dev van; ./add-device dev2 car; ./add-watcher eye van; "
                + "./add-recorder rec; ./add-operator boss van; printf 'pw\\npw\\n' | mosquitto_passwd passwords nobody",
            in: folder)
        let broker = try await MosquittoProcess.start { port, _ in
            let text = try String(contentsOf: folder.appending(path: "mosquitto.conf"), encoding: .utf8)
            var kept: [Substring] = []
            var isKept = true
            for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
                if line.hasPrefix("listener ") { isKept = line == "listener 8883" }
                if line.hasPrefix("user ") { continue }
                if isKept { kept.append(line == "listener 8883" ? "listener \(port) 127.0.0.1" : line) }
            }
            return kept.joined(separator: "\n").replacingOccurrences(
                of: #"(?m)^(\w*file|persistence_location) (?!/)"#, with: "$1 \(folder.path())/",
                options: .regularExpression)
        }
        return (broker, folder)
    }

    private static func shell(_ script: String, in folder: URL) async throws {
        try await ChildProcess.run("/bin/sh", ["-ec", "cd '\(folder.path())'; \(script)"])
    }

    private func transport(_ user: String, _ broker: MosquittoProcess, _ folder: URL) throws -> MQTTTransport {
        var configuration = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "localhost", port: broker.port, isTLS: true)], client: try ClientID(user))
        configuration.credentials = MQTTCredentials(user: user, password: "pw")
        configuration.tls = .init(authorities: folder.appending(path: "certs/ca.crt").path())
        return try MQTTTransport(configuration: configuration)
    }

    @Test(.timeLimit(.minutes(2)), arguments: users) func aUserWritesWhatItIsGrantedAndNothingElse(user: String)
        async throws
    {
        let (broker, folder) = try await self.start()
        defer { try? FileManager.default.removeItem(at: folder) }
        let transport = try self.transport(user, broker, folder)
        let commands = Self.writers.enumerated().map { index, row in
            let message = OutgoingMessage(topic: "tracking/\(row.0)", payload: [1], isRetained: false)
            return TransportCommand.publish(message, TransportToken(index))
        }
        var refusals: [TransportToken: TrackingError?] = [:]
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await transport.run() }
            for await events in transport.events {
                for event in events {
                    switch event {
                    case .connected: transport.send(commands)
                    case .published(let token, let refusal): refusals[token] = refusal
                    case .disconnected(let lost):
                        if let reason = lost.reason { Issue.record("\(reason)") }
                        transport.send([.close(within: .zero)])
                    case .received, .subscribed: break
                    }
                }
                // Closed in order; the events end then.
                if refusals.count == commands.count { transport.send([.close(within: .zero)]) }
            }
            group.cancelAll()
        }
        for (index, row) in Self.writers.enumerated() {
            let refusal = try #require(refusals[TransportToken(index)], "\(row.0)")
            if row.1.contains(user) {
                #expect(refusal == nil, "\(user) may write \(row.0)")
            } else {
                #expect(refusal?.code == .notAuthorized, "\(user) may not write \(row.0)")
            }
        }
    }
}
