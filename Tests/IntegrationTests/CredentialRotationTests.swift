import Foundation
import TestSupport
import Testing
import TrackingControl
import TrackingCore
import TrackingStore

/// Programs whose passwords change at the broker while they run.
@Suite(.timeLimit(.minutes(10))) struct CredentialRotationTests {
    /// A broker with passwords, and the programs that sign in with them. All users have one password.
    private final class Stage: Sendable {
        let folder: URL
        let broker: MosquittoProcess
        let store: String
        private let options: [String]

        static let users = ["box", "keeper", "keeper-intake", "desk"]

        init(withCommand hasCommand: Bool) async throws {
            self.folder = FileManager.default.temporaryDirectory.appending(path: "godwit-rotation-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
            self.broker = try await MosquittoProcess.start(
                passwords: Self.passwords("pw-one"), extra: ["max_inflight_messages 500", "max_queued_messages 100000"])
            self.store = "sqlite:\(self.folder.appending(path: "history.sqlite").path())"
            let file = self.folder.appending(path: "password").path()
            self.options = hasCommand ? ["--password-command", "cat \(file)"] : ["--password-file", file]
            try self.write("pw-one")
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        static func passwords(_ password: String) -> [String: String] {
            Dictionary(uniqueKeysWithValues: self.users.map { ($0, password) })
        }

        /// Writes the password that the programs read.
        func write(_ password: String) throws {
            try "\(password)\n".write(
                to: self.folder.appending(path: "password"), atomically: true, encoding: .utf8)
        }

        func login(_ user: String) -> [String] {
            ["--broker", "mqtt://\(user)@127.0.0.1:\(self.broker.port)", "--log-level", "info"] + self.options
        }

        func recorder() async throws -> RunningProgram {
            let recorder = try Programs.start(
                "godwit", ["record", "--store", self.store, "--intake-user", "keeper-intake"] + self.login("keeper"))
            try await recorder.waitForLog("Recorder is storing messages")
            return recorder
        }

        /// Starts an agent that sends a drive of four fixes a second at twice the speed. The drive is longer than the
        /// change of the password takes, because an agent whose source has ended does not wait for another password.
        func agent(fixes: Int) throws -> RunningProgram {
            let drive = self.folder.appending(path: "drive.jsonl")
            let lines = (0..<fixes).map { index in
                "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[-8.5,\(52.0 + Double(index) * 1e-4)]},"
                    + "\"properties\":{\"time\":\(1_700_000_000 + Double(index) * 0.25)}}"
            }
            try lines.joined(separator: "\n").write(to: drive, atomically: true, encoding: .utf8)
            return try Programs.start(
                "godwit-agent",
                [
                    "run", "--trackable", "van", "--battery", "none", "--source", "jsonl:\(drive.path())", "--speed",
                    "2",
                    "--spool", self.folder.appending(path: "spool.sqlite").path(),
                    "--default-resolution", "HIGH/1000/0", "--sensor-resolution", "HIGH/0/0", "--batch-window", "0.2",
                    "--acknowledge-by", "keeper",
                ] + self.login("box"))
        }

        func count() async throws -> Int {
            let store = try SQLiteHistoryStore(path: String(self.store.dropFirst("sqlite:".count)))
            var seqs: [UInt64] = []
            try await store.readAll(PointQuery(TrackableID("van")), pageSize: 10_000) { page in
                seqs += page.compactMap(\.location.seq)
            }
            try await store.close()
            #expect(Set(seqs).count == seqs.count, "a point is stored twice")
            return seqs.count
        }
    }

    /// The passwords change in the broker's file, and in the file of the programs before or after that.
    @Test(arguments: [(false, true), (true, true), (false, false), (true, false)])
    func noPointIsLostWhenThePasswordRotates(hasCommand: Bool, isFileFirst: Bool) async throws {
        let stage = try await Stage(withCommand: hasCommand)
        let recorder = try await stage.recorder()
        let agent = try stage.agent(fixes: 400)
        try await waitUntil { try await stage.count() > 20 }
        if isFileFirst { try stage.write("pw-two") }
        try await stage.broker.replacePasswords(Stage.passwords("pw-two"))
        if !isFileFirst {
            for program in [agent, recorder] { try await program.waitForLog("Not authorized") }
            try stage.write("pw-two")
        }
        let end = try await agent.result(within: .seconds(180))
        #expect(end.code == 0, "\(end.errors.suffix(2000))")
        try await waitUntil { try await stage.count() == 400 }
        let verified = try await Programs.run("godwit", ["verify", "van", "--store", stage.store])
        #expect(verified.code == 0, "\(verified.output)")
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(60)).code == 0)
        #expect(!(end.errors + recorder.errors).contains("pw-two"), "no password is logged")
    }

    @Test func aWatcherContinuesWithTheNewPassword() async throws {
        let stage = try await Stage(withCommand: false)
        let watch = try Programs.start("godwit", ["watch", "van", "--format", "json"] + stage.login("desk"))
        try await waitUntil { stage.broker.log.contains("u'desk'") }
        try await stage.broker.replacePasswords(Stage.passwords("pw-two"))
        try await watch.waitForLog("Not authorized")
        try stage.write("pw-two")
        let connections = stage.broker.log.components(separatedBy: "u'desk'").count
        try await waitUntil {
            stage.broker.log.components(separatedBy: "u'desk'").count > connections
        }
        watch.terminate()
        #expect(try await watch.result(within: .seconds(60)).code == 0)
        // Before the first connection, a refusal ends the program at once.
        try stage.write("wrong")
        let refused = try await Programs.run("godwit", ["watch", "van"] + stage.login("desk"))
        #expect(refused.code == 77, "\(refused.errors)")
    }

    // MARK: - Tokens

    /// Writes a program that prints a new token of this lifetime at each run, and logs its runs.
    private static func tokens(in folder: URL, living seconds: Int) throws -> String {
        let script = folder.appending(path: "token.py").path()
        try """
        import base64, json, os, time
        runs = '\(folder.path())/runs-' + os.environ['GODWIT_USER']
        with open(runs, 'a') as file: file.write('x')
        claims = {'sub': os.environ['GODWIT_USER'], 'exp': time.time() + \(seconds), 'jti': os.path.getsize(runs)}
        print('eyJhbGciOiJub25lIn0.' + base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().strip('=') + '.c2ln')
        """.write(toFile: script, atomically: true, encoding: .utf8)
        return "python3 \(script)"
    }

    /// Both the device and the watcher sign in with tokens that expire while they run. The broker accepts any token,
    /// because it has no plugin that checks them; the relay shows the tokens.
    @Test func aTokenIsRenewedInOrderAndNoWatcherSeesOffline() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let relay = try await Relay(to: scene.broker.port, log: scene.file("connects"))
        let login = { (user: String) in
            [
                "--broker", "mqtt://\(user)@127.0.0.1:\(relay.port)", "--password-command",
                try Self.tokens(in: scene.folder, living: 12), "--log-level", "info",
            ]
        }
        let watch = try Programs.start("godwit", ["watch", "van-7", "--format", "json"] + login("desk"))
        let agent = try await scene.start(login("box"))
        try await watch.wait { $0.contains(#""state":"ONLINE""#) }
        let before = watch.output.components(separatedBy: "OFFLINE").count
        for program in [agent, watch] {
            try await program.waitForLog("connects again with new credentials")
        }
        // A third connection of both follows the second renewal.
        let connects = { try String(decoding: Data(contentsOf: URL(filePath: scene.file("connects"))), as: UTF8.self) }
        let tokens = { try Set(connects().matches(of: #/eyJ[A-Za-z0-9._-]+/#).map { String($0.output) }) }
        try await waitUntil { try tokens().count >= 6 }
        try await scene.status { $0.connection.isUp }
        #expect(watch.output.components(separatedBy: "OFFLINE").count == before, "\(agent.errors)")
        for program in [agent, watch] {
            #expect(!program.errors.contains("eyJ"), "no token is logged")
            #expect(!program.errors.contains("was lost or could not be made"), "\(program.errors)")
        }
        #expect(scene.broker.log.contains("Received DISCONNECT from box"))
        #expect(try await agent.end().code == 0)
        watch.terminate()
        #expect(try await watch.result(within: .seconds(60)).code == 0)
    }
}
