import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// The broker's own files, unchanged, with every topic and role: exactly the minimal grants of
/// docs/reference/protocol.md, over TLS, with passwords and with client certificates.
@Suite(.timeLimit(.minutes(10))) struct BrokerFilesTests {
    /// The way in which users authenticate.
    enum Access: String, Sendable, CaseIterable {
        case password
        case certificate

        /// The listener of mosquitto.conf.
        var listener: String { self == .password ? "listener 8883" : "listener 8884" }
    }

    /// A device of `van` and one of `car`, a watcher of `van`, a recorder, an operator of `van`, an enhancer,
    /// and one without rights.
    private static let users = ["dev", "dev2", "eye", "rec", "boss", "roads", "nobody"]

    /// The topics beneath the root, with their writers and readers. They include forged acknowledgements, and the
    /// presence, requests and liveness of other clients.
    static let grants: [(topic: String, writers: Set<String>, readers: Set<String>)] = [
        ("van", ["dev"], ["eye", "rec", "roads"]),
        ("van/enhanced", ["roads"], ["eye", "rec", "roads"]),
        ("van/estimate", ["roads"], ["dev", "eye", "rec", "boss", "roads"]),
        ("van/journey", ["dev", "boss"], ["dev", "eye", "rec", "boss", "roads"]),
        ("van/raw", ["dev"], ["eye", "rec"]),
        ("van/history", ["dev"], ["eye", "rec"]),
        ("van/publisher/dev", ["dev"], ["dev", "eye", "rec"]),
        ("van/publisher/dev2", [], ["dev", "eye", "rec"]),
        ("van/publisher/eye", [], ["dev", "eye", "rec"]),
        ("van/subscriber/eye", ["eye"], ["dev", "eye", "rec"]),
        ("van/subscriber/dev", [], ["dev", "eye", "rec"]),
        ("van/subscriber/nobody", [], ["dev", "eye", "rec"]),
        ("van/request/eye", ["eye"], ["dev", "eye", "rec"]),
        ("van/request/dev", [], ["dev", "eye", "rec"]),
        ("van/request/boss", [], ["dev", "eye", "rec"]),
        ("van/resolution", ["dev"], ["eye", "rec", "roads"]),
        ("van/trip", ["dev"], ["eye", "rec"]),
        ("van/event", ["dev", "roads"], ["eye", "rec"]),
        ("van/ack/rec", ["rec"], ["dev", "eye", "rec"]),
        ("van/ack/dev", [], ["dev", "eye", "rec"]),
        ("van/ack/eye", [], ["dev", "eye", "rec"]),
        // Commands contain places: only the device reads them, and it answers only operators.
        ("van/command", ["boss"], ["dev"]),
        ("van/command/boss", ["dev"], ["boss"]),
        ("van/command/nobody", [], []),
        ("van/command/dev", [], []),
        ("van/reserved", [], []),
        ("car", ["dev2"], ["rec", "roads"]),
        ("car/enhanced", ["roads"], ["rec", "roads"]),
        ("car/journey", ["dev2"], ["dev2", "rec", "roads"]),
        ("car/estimate", ["roads"], ["dev2", "rec", "roads"]),
        ("car/publisher/dev", [], ["dev2", "rec"]),
        ("car/publisher/dev2", ["dev2"], ["dev2", "rec"]),
        ("car/subscriber/eye", [], ["dev2", "rec"]),
        ("car/request/eye", [], ["dev2", "rec"]),
        ("car/ack/rec", ["rec"], ["dev2", "rec"]),
        ("car/ack/dev2", [], ["dev2", "rec"]),
        ("car/command", [], ["dev2"]),
        ("car/command/boss", [], []),
        ("other", [], ["rec", "roads"]),
        ("_clients/dev", ["dev"], Set(users)),
        ("_clients/dev2", ["dev2"], Set(users)),
        ("_clients/eye", ["eye"], Set(users)),
        ("_clients/rec", ["rec"], Set(users)),
        ("_clients/boss", ["boss"], Set(users)),
        ("_clients/roads", ["roads"], Set(users)),
        ("_clients/nobody", ["nobody"], Set(users)),
        ("_clients/dev/deeper", [], []),
    ]

    /// Runs a broker with a copy of `broker/`. The scripts of the copy have added the users, and the test adds one user
    /// with all rights.
    private func with(
        _ access: Access, _ body: (_ connect: (String) throws -> MQTTClient) async throws -> Void
    ) async throws {
        try await self.withFiles(access) { broker, folder in
            try await body { user in try MQTTClient(configuration: self.configuration(user, access, broker, folder)) }
        }
    }

    func withFiles(_ access: Access, _ body: (MosquittoProcess, URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-files-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        // A separate program copies the files. A script that this process has open for writing cannot be executed, not
        // even when only a child of another test has inherited the descriptor.
        let option = access == .certificate ? "--cert" : ""
        let plain =
            access == .certificate
            ? "certs/generate.sh client $name"
            : "printf '%s\\n' a-test-password a-test-password | mosquitto_passwd passwords $name"
        try await ChildProcess.run(
            "/bin/sh",
            [
                "-ec",
                """
                cp -R '\(Programs.root.appending(path: "broker").path())' '\(folder.path())'
                cd '\(folder.path())'
                certs/generate.sh --force ca; certs/generate.sh --force server localhost 127.0.0.1
                \(access == .password ? "export GODWIT_PASSWORD=a-test-password" : "")
                ./add-device \(option) dev van; ./add-device \(option) dev2 car; ./add-watcher \(option) eye van
                ./add-recorder \(option) rec; ./add-gateway \(option) gate; ./add-operator \(option) boss van
                ./add-recorder \(option) --housekeeper tidy; ./add-eraser \(option) wipe van
                ./add-enhancer \(option) roads; ./add-gateway --commands \(option) sender
                unset GODWIT_PASSWORD
                for name in nobody root; do \(plain); done
                printf 'user root\\ntopic readwrite #\\n' >>acl.conf
                """,
            ])
        let broker = try await MosquittoProcess.start { port, _ in
            try Self.configuration(folder, access: access, port: port)
        }
        try await body(broker, folder)
        withExtendedLifetime(broker) {}
    }

    /// The project's own configuration with one listener, another port and absolute paths.
    private static func configuration(_ folder: URL, access: Access, port: Int) throws -> String {
        let text = try String(contentsOf: folder.appending(path: "mosquitto.conf"), encoding: .utf8)
        var kept: [Substring] = []
        var isKept = true
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("listener ") { isKept = line == access.listener }
            if line.hasPrefix("user ") { continue }
            if isKept { kept.append(line == access.listener ? "listener \(port) 127.0.0.1" : line) }
        }
        return kept.joined(separator: "\n").replacingOccurrences(
            of: #"(?m)^(\w*file|persistence_location) (?!/)"#, with: "$1 \(folder.path())/",
            options: .regularExpression)
    }

    func configuration(
        _ user: String, _ access: Access, _ broker: MosquittoProcess, _ folder: URL
    ) throws -> MQTTConfiguration {
        var configuration = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "localhost", port: broker.port, isTLS: true)], client: try ClientID(user))
        configuration.tls.authorities = folder.appending(path: "certs/ca.crt").path()
        switch access {
        case .password:
            configuration.credentials = MQTTCredentials(user: user, password: "a-test-password")
        case .certificate:
            configuration.tls.certificate = folder.appending(path: "certs/clients/\(user).crt").path()
            configuration.tls.key = folder.appending(path: "certs/clients/\(user).key").path()
        }
        return configuration
    }

    /// `add-gateway` grants the rights that `godwit serve` needs: publish ingested records, watch, request resolutions
    /// and publish the events of rules.
    @Test(.timeLimit(.minutes(10)), arguments: [false, true])
    func aGatewayHasWhatItNeeds(records: Bool) async throws {
        try await self.withFiles(.password) { broker, folder in
            let state = ["--state", folder.appending(path: "state").path()]
            let store = "sqlite:\(folder.appending(path: "history.sqlite").path())"
            let token = try await Programs.run(
                "godwit", ["token", "create", "--name", "phone", "--publish", "bike"] + state)
            let secret = try #require(token.lines.first)
            let gateway = try Programs.start(
                "godwit",
                [
                    "serve", "--broker", "mqtts://gate@localhost:\(broker.port)", "--ca",
                    folder.appending(path: "certs/ca.crt").path(), "--live-user", "gate-live", "--listen",
                    "127.0.0.1:0",
                ] + (records ? ["--store", store] : ["--no-store"]) + state,
                environment: ["GODWIT_PASSWORD": "a-test-password"])
            try await gateway.waitForLog("listening on http://127.0.0.1:")
            let port = try #require(
                gateway.errors.firstMatch(of: #/listening on http://127\.0\.0\.1:(\d+)/#).flatMap { Int($0.1) })
            let point =
                #"{"type":"Feature","geometry":{"type":"Point","coordinates":[-8,52]},"properties":{"time":1790000001}}"#
            let answer = try await LoopbackHTTP.request(
                "POST", "/points", port: port, headers: ["Authorization": "Bearer \(secret)"], body: point)
            #expect(answer.status == 200 && answer.text.contains("ok"), "\(answer.text) \(gateway.errors)")
            gateway.terminate()
            #expect(try await gateway.result(within: .seconds(60)).code == 0)
            #expect(!gateway.errors.contains("Broker rejected the subscription to a trackable"), "\(gateway.errors)")
        }
    }

    /// `add-recorder` grants the rights that `godwit record` needs: two connections, and acknowledgements that the
    /// device may read.
    @Test(arguments: Access.allCases) func aRecorderHasWhatItNeeds(access: Access) async throws {
        try await self.withFiles(access) { broker, folder in
            let clients = folder.appending(path: "certs/clients").path()
            let identity =
                switch access {
                case .password:
                    ["--broker", "mqtts://rec:a-test-password@localhost:\(broker.port)", "--intake-user", "rec-intake"]
                case .certificate:
                    [
                        "--broker", "mqtts://localhost:\(broker.port)", "--cert", "\(clients)/rec.crt",
                        "--key", "\(clients)/rec.key", "--intake-cert", "\(clients)/rec-intake.crt",
                        "--intake-key", "\(clients)/rec-intake.key",
                    ]
                }
            let recorder = try Programs.start(
                "godwit",
                ["record", "--ca", folder.appending(path: "certs/ca.crt").path(), "--log-level", "info"] + identity)
            try await recorder.waitForLog("Recorder is storing messages")
            let device = try MQTTClient(configuration: self.configuration("dev", access, broker, folder))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await device.run() }
                let batch = #"{"batch":"b","stream":"s1","oldest":5,"points":[],"remaining":0}"#
                let acknowledgement = try await device.withSubscription(to: ["tracking/van/ack/+"]) { messages in
                    try await device.publish(
                        OutgoingMessage(topic: "tracking/van/history", payload: Array(batch.utf8), isRetained: false))
                    for try await message in messages { return message }
                    throw TestSupportError("no acknowledgement: \(recorder.errors)")
                }
                #expect(acknowledgement.topic == "tracking/van/ack/rec")
                #expect(String(decoding: acknowledgement.payload, as: UTF8.self) == #"{"streams":{"s1":4}}"#)
                group.cancelAll()
            }
            recorder.terminate()
            #expect(try await recorder.result(within: .seconds(60)).code == 0, "\(recorder.errors)")
            #expect(!recorder.errors.contains("reason=\"conn"), "\(recorder.errors)")
        }
    }

    /// The rules of a user that may read every trackable.
    static let readLines = [
        "", "/enhanced", "/journey", "/estimate", "/raw", "/history", "/publisher/+", "/subscriber/+", "/request/+",
        "/resolution", "/trip", "/event",
        "/ack/+",
    ].map { "topic read tracking/+\($0)" }.joined(separator: "\n")

    /// A recorder may read the number of dropped messages, and acknowledges for its group. A bridge has the rules of
    /// the README.
    @Test func addedUsersHaveTheDocumentedRules() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-lines-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await ChildProcess.run(
            "/bin/sh",
            [
                "-ec",
                """
                cp -R '\(Programs.root.appending(path: "broker").path())' '\(folder.path())'
                cd '\(folder.path())'; export GODWIT_PASSWORD=a-test-password
                ./add-recorder --group team rec; ./add-bridge bridge; ./add-recorder --housekeeper tidy
                if ./add-watcher --housekeeper eye van; then exit 1; fi
                if ./add-gateway --group team gate; then exit 1; fi
                """,
            ])
        let lines = try String(contentsOf: folder.appending(path: "acl.conf"), encoding: .utf8)
        #expect(
            lines.contains(
                """
                user rec
                \(Self.readLines)
                topic write tracking/+/ack/rec
                topic write tracking/+/ack/team
                topic read $SYS/broker/publish/messages/dropped

                """))
        #expect(
            lines.contains(
                """
                user tidy
                \(Self.readLines)
                topic write tracking/+/ack/tidy
                topic write tracking/+/publisher/+
                topic write tracking/+/subscriber/+
                topic write tracking/+/request/+
                topic write tracking/_clients/+
                topic read $SYS/broker/publish/messages/dropped

                """))
        let readme = Programs.root.appending(path: "broker/README.md")
        let page = try String(contentsOf: readme, encoding: .utf8)
        let documented = try #require(
            page.components(separatedBy: "```acl\n").dropFirst().first?.components(separatedBy: "```")[0])
        for user in documented.components(separatedBy: "\n\n") {
            #expect(lines.contains(user.trimmingCharacters(in: .newlines) + "\n"), "\(lines)")
        }
        #expect(!lines.contains("user gate"))
    }

    /// Running the script again for a user with a password gives the second user the same password. The folder may have
    /// any name.
    @Test func anExistingUserGetsASecondUserWithTheSamePassword() async throws {
        let name = "godwit R&D $HOME|#1 ü \(UUID().uuidString)"
        let folder = FileManager.default.temporaryDirectory.appending(path: name)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await ChildProcess.run(
            "/bin/sh",
            [
                "-ec",
                """
                cp -R '\(Programs.root.appending(path: "broker").path())' '\(folder.path(percentEncoded: false))'
                cd '\(folder.path(percentEncoded: false))'
                certs/generate.sh --force ca; certs/generate.sh --force server localhost
                certs/generate.sh client eye; certs/generate.sh --force client eye; certs/generate.sh --force client eye
                certs/generate.sh revoke eye; certs/generate.sh client eye; certs/generate.sh revoke eye
                for name in rec gate bridge; do GODWIT_PASSWORD=a-test-password ./add-watcher --all $name; done
                for kind in recorder gateway bridge; do
                    case $kind in recorder) name=rec ;; gateway) name=gate ;; bridge) name=bridge ;; esac
                    [ -z "$(./add-$kind $name)" ]; [ -z "$(./add-$kind $name)" ]
                done
                """,
            ])
        let passwords = try String(contentsOf: folder.appending(path: "passwords"), encoding: .utf8)
        let hashes = Dictionary(grouping: passwords.split(separator: "\n")) { $0.split(separator: ":").last }
            .mapValues { $0.map { String($0.prefix { $0 != ":" }) }.sorted() }
        #expect(
            Set(hashes.values) == [
                ["rec", "rec-intake"], ["gate", "gate-live", "gate-recorder", "gate-recorder-intake"],
                ["bridge", "bridge-out", "bridge-owntracks"],
            ])
        let revoked = try String(contentsOf: folder.appending(path: "certs/revoked.txt"), encoding: .utf8)
        // Three clients at once, the renewed ones among them, and then one more.
        let lines = revoked.split(separator: "\n")
        #expect(lines.count == 4 && lines.allSatisfy { $0.hasPrefix("R\t") && $0.hasSuffix("/CN=eye") }, "\(revoked)")
    }

    /// The steps of the README, unchanged except for the ports. When root starts the broker, it runs as the user
    /// mosquitto.
    @Test func theFiveMinutesOfTheReadmeWork() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-five-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let readme = Programs.root.appending(path: "broker/README.md")
        let chapter = try String(contentsOf: readme, encoding: .utf8).components(separatedBy: "## In five minutes")[1]
        let lines = chapter.split(separator: "\n", omittingEmptySubsequences: false)
            .drop { !$0.hasPrefix("    ") }.prefix { $0.hasPrefix("    ") }.map { String($0.dropFirst(4)) }
        #expect(lines.count == 6 && lines.last == "mosquitto -c mosquitto.conf")
        let ports = try (0..<3).map { _ in try LoopbackPort.free() }
        try await ChildProcess.run(
            "/bin/sh",
            [
                "-ec",
                """
                mkdir '\(folder.path())' && cd '\(folder.path())'
                cp -R '\(readme.deletingLastPathComponent().path())' broker
                sed -i 's/^listener 8883/listener \(ports[0])/; s/^listener 8884/listener \(ports[1])/; \
                s/^listener 9001/listener \(ports[2])/' broker/mosquitto.conf
                """,
            ])
        let steps = (lines.dropLast() + ["exec mosquitto -c mosquitto.conf"]).joined(separator: "\n")
        let broker = try RunningProgram(
            "/usr/bin/env", ["-C", folder.path(), "/bin/sh", "-ec", steps],
            environment: ["PATH": "/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/bin"])
        try await broker.waitForLog("add-watcher: desk is in")
        try await self.isWatched(folder.appending(path: "broker"), ports, password: broker.output.prefix { $0 != "\n" })
        // The broker logs a connection at once, and not only at its end.
        try await broker.waitForLog(" as van-7-box (")
        let result = try await broker.end()
        #expect(result.code == 0 && !result.errors.contains("Error"), "\(result.output) \(result.errors)")
        // The broker was able to write its database.
        #expect(FileManager.default.fileExists(atPath: folder.appending(path: "broker/data/mosquitto.db").path()))
    }

    /// The device of the README publishes with its password. The certificate of the watcher names its client. A watcher
    /// with the right counts as a subscriber; without the right, the error names the topic.
    private func isWatched(_ folder: URL, _ ports: [Int], password: Substring) async throws {
        let authorities = ["--ca", folder.appending(path: "certs/ca.crt").path()]
        let agent = try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--source", "simulate:", "--battery", "none", "--broker",
                "mqtts://van-7-box@localhost:\(ports[0])",
            ] + authorities, environment: ["GODWIT_PASSWORD": String(password)])
        let clients = folder.appending(path: "certs/clients")
        let desk = [
            "--broker", "mqtts://localhost:\(ports[1])", "--cert", clients.appending(path: "desk.crt").path(), "--key",
            clients.appending(path: "desk.key").path(),
        ]
        let watch = try Programs.start("godwit", ["watch", "van-7"] + desk + authorities)
        try await watch.wait(for: " van-7 location 52.6")
        let granted = try await watch.end()
        #expect(granted.code == 0, "\(granted.errors)")
        #expect(
            !granted.errors.contains("Broker rejected the subscriber's presence or resolution request"),
            "\(granted.errors)")
        let other = try Programs.start("godwit", ["watch", "van-8"] + desk + authorities)
        try await other.waitForLog("topic=tracking/van-8/subscriber/desk")
        let refused = try await other.end()
        #expect(
            refused.code == 0
                && refused.errors.contains("Broker rejected the subscriber's presence or resolution request"))
        #expect(!refused.errors.contains("message skipped"))
        #expect(try await agent.end().code == 0)
    }

    /// Runs a client while `body` does.
    func with(_ client: MQTTClient, _ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            defer { group.cancelAll() }
            try await body()
        }
    }

    @Test(arguments: Access.allCases) func everyoneWritesWhatIsGrantedAndNothingElse(access: Access) async throws {
        try await self.with(access) { connect in
            for user in Self.users {
                let client = try connect(user)
                try await self.with(client) {
                    for grant in Self.grants {
                        let message = OutgoingMessage(
                            topic: "tracking/\(grant.topic)", payload: [1], isRetained: false)
                        let refusal: TrackingError?
                        do throws(TrackingError) {
                            try await client.publish(message)
                            refusal = nil
                        } catch { refusal = error }
                        let expected: TrackingError.Code? = grant.writers.contains(user) ? nil : .notAuthorized
                        #expect(
                            refusal?.code == expected, "\(user) writes \(grant.topic): \(String(describing: refusal))")
                    }
                }
            }
        }
    }

    /// A gateway with commands sets journeys on its watching connection only. No gateway writes estimates or positions
    /// on the road.
    @Test(arguments: Access.allCases) func aGatewayWritesJourneysAndNoEstimates(access: Access) async throws {
        try await self.with(access) { connect in
            for user in ["gate", "gate-live", "sender", "sender-live"] {
                let client = try connect(user)
                try await self.with(client) {
                    for topic in ["journey", "estimate", "enhanced"] {
                        let isGranted = user == "sender-live" && topic == "journey"
                        let message = OutgoingMessage(topic: "tracking/van/\(topic)", payload: [1], isRetained: false)
                        var refusal: TrackingError?
                        do throws(TrackingError) { try await client.publish(message) } catch { refusal = error }
                        let expected: TrackingError.Code? = isGranted ? nil : .notAuthorized
                        #expect(refusal?.code == expected, "\(user) writes \(topic)")
                    }
                }
            }
        }
    }

    @Test(arguments: Access.allCases) func everyoneReadsWhatIsGrantedAndNothingElse(access: Access) async throws {
        try await self.with(access) { connect in
            let root = try connect("root")
            try await self.with(root) {
                for user in Self.users {
                    let client = try connect(user)
                    try await self.with(client) { try await self.reads(user, client, root) }
                }
            }
        }
    }

    /// Checks the topics that a user may read. The broker acknowledges a subscription without rights as well, so that
    /// only the delivered messages count.
    private func reads(_ user: String, _ client: MQTTClient, _ root: MQTTClient) async throws {
        let marker = "tracking/_clients/root"
        let filters = ["tracking/#", marker] + Self.grants.map { "tracking/\($0.topic)" }
        let received = try await client.withSubscription(to: filters) { messages in
            for topic in Self.grants.map({ "tracking/\($0.topic)" }) + [marker] {
                try await root.publish(OutgoingMessage(topic: topic, payload: [1], isRetained: false))
            }
            var topics: Set<String> = []
            for try await message in messages {
                if message.topic == marker { break }
                topics.insert(String(message.topic.dropFirst("tracking/".count)))
            }
            return topics
        }
        let expected = Set(Self.grants.filter { $0.readers.contains(user) }.map(\.topic))
        #expect(received.subtracting(expected) == [], "\(user) reads what it may not")
        #expect(expected.subtracting(received) == [], "\(user) does not read what it may")
    }
}
