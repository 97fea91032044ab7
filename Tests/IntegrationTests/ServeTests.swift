import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingStore
import TrackingTesting

/// `godwit serve`, `godwit token` and `godwit share` as a user runs them.
@Suite(.timeLimit(.minutes(10))) struct ServeTests {
    /// A broker, a history, a temporary folder, and a gateway on them.
    private final class Stage: Sendable {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-serve-\(UUID().uuidString)")
        let broker: MosquittoProcess
        var state: [String] { ["--state", self.folder.path()] }
        var store: [String] { ["--store", "sqlite:\(self.folder.appending(path: "history.sqlite").path())"] }

        init(points: Int = 50) async throws {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
            self.broker = try await MosquittoProcess.start()
            let store = try SQLiteHistoryStore(path: self.folder.appending(path: "history.sqlite").path())
            let drive = try (1...points).map { number in
                let place = try #require(Coordinate(latitude: 52 + Double(number) * 1e-4, longitude: -8.66))
                var point = Location(coordinate: place, time: UnixTime(1_790_000_000 + Double(number)))
                (point.seq, point.stream) = (UInt64(number), StreamID("one"))
                return point
            }
            var batch = RecordingBatch()
            batch.recordings = try ["van 7/b", "van-7"].map { name in
                var recording = Recording(of: try TrackableID(name), at: UnixTime(1_790_100_000))
                recording.points = drive
                return recording
            }
            _ = try await store.store(batch)
            try await store.close()
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        /// Starts a gateway and waits until it accepts connections.
        func serve(_ more: [String] = []) async throws -> (program: RunningProgram, port: Int) {
            // The gateway only reads this history, so that a separate recorder is named.
            let recorder = more.contains("--store") ? ["--acknowledge-by", "keeper"] : []
            let program = try Programs.start(
                "godwit",
                ["serve", "--broker", self.broker.url, "--listen", "127.0.0.1:0"] + self.state + recorder + more)
            try await program.waitForLog("listening on http://127.0.0.1:")
            let match = try #require(program.errors.firstMatch(of: #/listening on http://127\.0\.0\.1:(\d+)/#))
            return (program, try #require(Int(match.1)))
        }

        func run(_ arguments: [String]) async throws -> Programs.Result {
            try await Programs.run("godwit", arguments + self.state)
        }

        /// Publishes on the topic of van-7's positions.
        func publish(_ options: [String]) async throws {
            let sent = try await RunningProgram(
                "/usr/bin/mosquitto_pub", ["-p", "\(self.broker.port)", "-q", "1", "-t", "tracking/van-7"] + options
            ).result(within: .seconds(60))
            #expect(sent.code == 0, "\(sent.errors)")
        }

        func token(_ arguments: [String]) async throws -> String {
            let result = try await self.run(["token", "create"] + arguments)
            #expect(result.code == 0, "\(result.errors)")
            return try #require(result.lines.first)
        }
    }

    @Test func aTokenIsMadeUsedAndRevokedWhileItServes() async throws {
        let stage = try await Stage()
        let (gateway, port) = try await stage.serve(stage.store)
        let token = try await stage.token(["--name", "desk", "--read-all"])
        let path = "/api/v1/trackables/van%207%2Fb/history?format=csv"
        let answer = try await HTTPAnswer.of(path, port: port, headers: ["Authorization: Bearer \(token)"])
        let command = try await Programs.run("godwit", ["history", "van 7/b", "--format", "csv"] + stage.store)
        #expect(answer.status == 200 && answer.text == command.output && answer.text.count > 1000)
        let list = try await stage.run(["token", "list"])
        #expect(list.output.contains("desk") && list.output.contains("valid") && !list.output.contains(token))
        #expect(try await stage.run(["token", "revoke", "desk"]).code == 0)
        #expect(try await HTTPAnswer.of(path, port: port, headers: ["Authorization: Bearer \(token)"]).status == 401)
        #expect(try await stage.run(["token", "revoke", "desk"]).code == 1)
        gateway.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0, "\(gateway.errors)")
    }

    @Test func aShareLinkIsPrintedAndDiesOnTime() async throws {
        let stage = try await Stage()
        let (gateway, port) = try await stage.serve(stage.store)
        let link = try await stage.run(["share", "van 7/b", "--for", "30s", "--url", "https://tracks.example.org/"])
        let secret = try #require(link.lines.first?.firstMatch(of: #/^https://tracks.example.org/s/(gs_.{43})$/#)).1
        func status(_ path: String) async throws -> Int {
            try await HTTPAnswer.of(path, port: port, headers: ["Authorization: Bearer \(secret)"]).status
        }
        #expect(try await status("/session") == 200)
        // The recorded positions are older than the link.
        #expect(try await status("/api/v1/trackables/van%207%2Fb/position") == 404)
        #expect(try await status("/api/v1/trackables/van%207%2Fb/history") == 403)
        let deadline = ContinuousClock.now.advanced(by: .seconds(120))
        while try await status("/session") == 200, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(try await status("/session") == 401)
        // Without --url, a link begins with the address of the gateway.
        let other = try await stage.run(["share", "van-7", "--for", "15s"] + stage.store)
        #expect(other.output.hasPrefix("http://127.0.0.1:\(port)/s/gs_"), "\(other.output) \(other.errors)")
        let list = try await stage.run(["share", "list"])
        #expect(list.output.contains("share of van 7/b") && list.output.contains("expired"))
        gateway.terminate()
        _ = try await gateway.result(within: .seconds(60))
    }

    @Test func aRevokedTokenEndsTheStreamThatItOpenedAndTheGatewaysEndTheRest() async throws {
        let stage = try await Stage()
        let (gateway, port) = try await stage.serve()
        let token = try await stage.token(["--name", "desk", "--read-all"])
        let stays = try await stage.token(["--name", "other", "--read-all"])
        let streams = try [token, stays].map { _ in try RawConnection(port: port) }
        for (stream, token) in zip(streams, [token, stays]) {
            try await stream.sendAll("GET /api/v1/live HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n")
            let hello = try await stream.read { String(decoding: $0, as: UTF8.self).contains("event: hello") }
            #expect(String(decoding: hello, as: UTF8.self).hasPrefix("HTTP/1.1 200"))
        }
        #expect(try await stage.run(["token", "revoke", "desk"]).code == 0)
        let rest = try await streams[0].read { String(decoding: $0, as: UTF8.self).contains("expired") }
        #expect(String(decoding: rest, as: UTF8.self).contains("expired"))
        await #expect(throws: TestSupportError.self) { try await streams[1].read(within: .seconds(1)) }
        gateway.terminate()
        // The stream ends with the gateway, and does not delay the gateway's end.
        let last = try await streams[1].read { String(decoding: $0, as: UTF8.self).contains("shutdown") }
        #expect(String(decoding: last, as: UTF8.self).contains(#"event: end"#))
        #expect(try await gateway.result(within: .seconds(60)).code == 0, "\(gateway.errors)")
    }

    /// No part of a running gateway returns an erased position again.
    @Test func aRunningGatewayForgetsAnErasedTrackable() async throws {
        let stage = try await Stage()
        let watch = try Programs.start(
            "godwit", ["watch", "van-7", "--broker", stage.broker.url, "--format", "json", "--silent"])
        let (gateway, port) = try await stage.serve(stage.store)
        let token = try await stage.token(["--name", "desk", "--read-all"])
        let headers = ["Authorization": "Bearer \(token)"]
        func get(_ path: String) async throws -> LoopbackHTTP.Answer {
            try await LoopbackHTTP.request("GET", "/api/v1/\(path)", port: port, headers: headers)
        }
        func publish(_ seq: UInt64, _ options: [String] = ["-r"]) async throws {
            var point = Location(
                coordinate: try #require(Coordinate(latitude: 52.5125, longitude: -8.5)),
                time: UnixTime(Date().timeIntervalSince1970))
            (point.seq, point.stream) = (seq, StreamID("two"))
            let payload = String(decoding: try LocationCodec.encode(LocationUpdate(location: point)), as: UTF8.self)
            try await stage.publish(options + ["-m", payload])
        }
        let stream = try await EventStream("/api/v1/live", port: port, headers: headers)
        try await publish(1)
        let first = try await stream.first { $0.name == "position" }
        #expect(first.data.contains("52.5125"))
        try await publish(2)
        try await watch.wait(for: "52.5125")
        #expect(try await get("trackables/van-7/position").text.contains("52.5125"))
        let erase = ["erase", "van-7", "--yes", "--broker", stage.broker.url] + stage.store
        let erased = try await Programs.run("godwit", erase)
        #expect(erased.code == 0, "\(erased.errors)")
        let cleared = try await stream.first { $0.name == "position" && !$0.data.contains("coordinates") }
        #expect(cleared.data == #"{"trackable":"van-7"}"#)
        #expect(try await get("trackables/van-7/position").status == 404)
        for path in ["positions", "trackables", "trackables/van-7"] {
            let answer = try await get(path)
            #expect(!answer.text.contains("52.5125"), "\(path): \(answer.text)")
        }
        // New and resumed streams both start again with the next position.
        let fresh = try await EventStream("/api/v1/live", port: port, headers: headers)
        let resumed = try await EventStream("/api/v1/live?lastEventId=\(first.id)", port: port, headers: headers)
        try await publish(3)
        for stream in [fresh, resumed] {
            let position = try await stream.first {
                $0.name == "position" && $0.data.contains("coordinates") && $0.data.contains("van-7")
            }
            #expect(position.data.contains(#""seq":3"#), "\(position.data)")
        }
        try await watch.wait(for: #""seq":3"#)
        let lines = watch.output.split(separator: "\n").filter { $0.contains(#""event":"location""#) }
        #expect(lines.count == 4 && !lines[2].contains("coordinates"), "\(watch.output)")
        // Any MQTT user clears a position in this way. An erasure is also received if the broker retained no message.
        try await stage.publish(["-r", "-n"])
        try await Self.wait { try await get("trackables/van-7/position").status == 404 }
        try await publish(4, [])
        try await Self.wait { try await get("trackables/van-7/position").status == 200 }
        #expect(try await Programs.run("godwit", erase).code == 0)
        try await Self.wait { try await get("trackables/van-7/position").status == 404 }
        gateway.terminate()
        watch.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0, "\(gateway.errors)")
    }

    /// The connection is down during the erasure, so that no message reports it: the gateway compares the retained
    /// messages instead.
    @Test func aTrackableErasedWhileTheGatewayIsDisconnectedIsForgottenToo() async throws {
        let stage = try await Stage()
        let proxy = try FaultProxy(to: stage.broker.port)
        let (gateway, port) = try await stage.serve(stage.store + ["--broker", "mqtt://127.0.0.1:\(proxy.port)"])
        let token = try await stage.token(["--name", "desk", "--read-all"])
        let headers = ["Authorization": "Bearer \(token)"]
        func get(_ path: String) async throws -> LoopbackHTTP.Answer {
            try await LoopbackHTTP.request("GET", "/api/v1/\(path)", port: port, headers: headers)
        }
        var point = Location(
            coordinate: try #require(Coordinate(latitude: 52.5125, longitude: -8.5)),
            time: UnixTime(Date().timeIntervalSince1970))
        (point.seq, point.stream) = (1, StreamID("two"))
        let payload = String(decoding: try LocationCodec.encode(LocationUpdate(location: point)), as: UTF8.self)
        let stream = try await EventStream("/api/v1/live", port: port, headers: headers)
        try await stage.publish(["-r", "-m", payload])
        _ = try await stream.first { $0.name == "position" }
        proxy.mode = .refuse
        proxy.cut()
        let erased = try await Programs.run(
            "godwit", ["erase", "van-7", "--yes", "--broker", stage.broker.url] + stage.store)
        #expect(erased.code == 0, "\(erased.errors)")
        proxy.mode = .pass
        let cleared = try await stream.first { $0.name == "position" }
        #expect(cleared.data == #"{"trackable":"van-7"}"#)
        #expect(try await get("trackables/van-7/position").status == 404)
        // A second gateway on the folder fails before it opens its port.
        let second = try await stage.run(["serve", "--broker", stage.broker.url, "--listen", "127.0.0.1:0"])
        #expect(second.code != 0 && second.errors.contains("--state") && !second.errors.contains("listening"))
        gateway.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0, "\(gateway.errors)")
    }

    private static func wait(until isSo: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        while try await !isSo() {
            try #require(ContinuousClock.now < deadline)
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// No form of a secret appears in the log, at any log level.
    @Test func noSecretIsLogged() async throws {
        let stage = try await Stage()
        let (gateway, port) = try await stage.serve(stage.store + ["--log-level", "trace"])
        let token = try await stage.token(["--name", "desk", "--read-all", "--publish", "van"])
        let link = try await stage.run(["share", "van", "--for", "2h"])
        let share = try #require(link.lines.first.flatMap { $0.split(separator: "/").last })
        var secrets = [token, String(share), "gw_wrongwrongwrongwrong", "a-password"]
        let basic = Data("me:\(token)".utf8).base64EncodedString()
        secrets.append(basic)
        for header in [
            "Bearer \(token)", "Basic \(basic)", "Bearer \(secrets[2])", "Digest a-password", "Bearer \(share)",
        ] {
            _ = try await HTTPAnswer.of("/session", port: port, headers: ["Authorization: \(header)"])
        }
        for path in ["/api/v1/positions?token=\(token)", "/s/\(share)", "/overland?token=\(secrets[2])", "/\(token)"] {
            _ = try await HTTPAnswer.of(path, port: port)
            _ = try await HTTPAnswer.of(path, method: "POST", port: port, body: "{\"token\":\"\(token)\"}")
        }
        let answer = try await HTTPAnswer.of(
            "/session", method: "POST", port: port, headers: ["Content-Type: application/json"],
            body: "{\"token\":\"\(token)\"}")
        let cookies = answer.headers.compactMap { header in header.firstMatch(of: #/godwit=(gc_[^;]+)/#)?.1 }
        let cookie = try #require(cookies.first)
        secrets.append(String(cookie))
        for method in ["GET", "DELETE"] {
            _ = try await HTTPAnswer.of("/session", method: method, port: port, headers: ["Cookie: godwit=\(cookie)"])
        }
        _ = try await HTTPAnswer.of("/session HTTP/9 \(token)", port: port, headers: ["\(token)"])
        gateway.terminate()
        let log = try await gateway.result(within: .seconds(60)).errors
        #expect(log.contains("trace"))
        for secret in secrets { #expect(!log.contains(secret.dropFirst(3)), "\(secret) is in the log") }
    }

    @Test func aStoreThatIsNotThereIsAnErrorWhereItWasNamed() async throws {
        let stage = try await Stage()
        let named = try await Programs.run(
            "godwit",
            ["serve", "--broker", stage.broker.url, "--listen", "127.0.0.1:0", "--store", "sqlite:/nowhere/x"]
                + stage.state)
        #expect(named.code == 66)
        let (gateway, port) = try await stage.serve(["--no-store"])
        let ready = try await HTTPAnswer.of("/readyz", port: port)
        #expect(!ready.text.contains("history") && ready.text.contains("\"database\":true"))
        let other = try await Programs.run(
            "godwit",
            [
                "serve", "--broker", stage.broker.url, "--listen", "127.0.0.1:\(port)", "--state",
                stage.folder.appending(path: "other").path(),
            ])
        #expect(other.code == 66 && other.errors.contains("cannot listen on 127.0.0.1:\(port)"), "\(other.errors)")
        let recorder = try await Programs.run(
            "godwit",
            ["record", "--broker", stage.broker.url, "--listen", "no.such.invalid:1", "--store"]
                + ["sqlite:\(stage.folder.appending(path: "other.sqlite").path())"])
        #expect(recorder.code == 66 && recorder.errors.contains("no.such.invalid:1"), "\(recorder.errors)")
        gateway.terminate()
        _ = try await gateway.result(within: .seconds(60))
    }

    @Test(arguments: ["foo", "https://a.example/path", "https://a.example/", "ftp://a.example", "https://"])
    func anOriginIsNamedAsBrowsersDo(text: String) async throws {
        let result = try await Programs.run("godwit", ["serve", "--cors", text])
        #expect(result.code == 64 && result.errors.contains("--cors must be an origin"), "\(result.errors)")
    }

    @Test func aRecorderServesItsMetrics() async throws {
        let stage = try await Stage()
        let recorder = try Programs.start(
            "godwit",
            ["record", "--broker", stage.broker.url, "--name", "keeper", "--listen", "127.0.0.1:0"] + stage.store)
        try await recorder.waitForLog("listening on http://127.0.0.1:")
        let match = try #require(recorder.errors.firstMatch(of: #/listening on http://127\.0\.0\.1:(\d+)/#))
        let port = try #require(Int(match.1))
        #expect(try await HTTPAnswer.of("/healthz", port: port).status == 200)
        func wait(_ path: String, for text: String) async throws {
            let deadline = ContinuousClock.now.advanced(by: .seconds(60))
            var answer = try await HTTPAnswer.of(path, port: port)
            while !answer.text.contains(text), ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(50))
                answer = try await HTTPAnswer.of(path, port: port)
            }
            #expect(answer.text.contains(text), "\(answer.text)")
        }
        try await wait("/readyz", for: "\"ready\":true")
        let drive = stage.folder.appending(path: "drive.jsonl")
        let lines = (0..<200).map { number in
            "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[-8.5,\(52 + Double(number) * 1e-4)]},"
                + "\"properties\":{\"time\":\(1_700_000_000 + number)}}"
        }
        try lines.joined(separator: "\n").write(to: drive, atomically: true, encoding: .utf8)
        let agent = try await Programs.run(
            "godwit-agent",
            [
                "run", "--trackable", "bus", "--broker", stage.broker.url, "--source", "jsonl:\(drive.path())",
                "--battery", "none", "--acknowledge-by", "keeper", "--speed", "max", "--spool", "memory",
            ])
        #expect(agent.code == 0, "\(agent.errors)")
        try await wait("/metrics", for: "godwit_recorder_withheld_messages 0")
        let page = try await HTTPAnswer.of("/metrics", port: port).text
        let stored = try #require(page.firstMatch(of: #/\ngodwit_recorder_stored_total (\d+)/#).flatMap { Int($0.1) })
        #expect(stored > 100 && page.contains("godwit_recorder_connected 1"), "\(page)")
        #expect(page.contains("# HELP godwit_recorder_stored_total "))
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(60)).code == 0, "\(recorder.errors)")
    }

    /// The running server conforms to its description, with requests that schemathesis generates. The live stream is
    /// excluded because it has no end, and the readiness because it is 503 until the broker is connected.
    @Test func theServerKeepsToItsDescription() async throws {
        let home = ProcessInfo.processInfo.environment["HOME"] ?? ""
        let cache = ProcessInfo.processInfo.environment["XDG_CACHE_HOME"] ?? "\(home)/.cache"
        let tester = URL(filePath: "\(cache)/godwit/schemathesis/bin/st")
        try #require(
            FileManager.default.isExecutableFile(atPath: tester.path()),
            "schemathesis is missing: scripts/setup installs it at \(tester.path())")
        let stage = try await Stage()
        let (gateway, port) = try await stage.serve(stage.store + ["--rate-limit", "100000"])
        let token = try await stage.token(["--name", "desk", "--read-all"])
        let program = try RunningProgram(
            executable: tester,
            arguments: [
                "run", "http://127.0.0.1:\(port)/api/v1/openapi.json", "--header", "Authorization: Bearer \(token)",
                "--max-examples", "40", "--phases", "examples,coverage,fuzzing", "--no-color",
                // The same requests each time, with enough time for each on a busy machine.
                "--generation-deterministic", "--suppress-health-check", "all",
                "--request-timeout", "60", "--checks",
                "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance,unsupported_method",
                "--exclude-path", "/readyz", "--exclude-path", "/api/v1/live",
            ], environment: [:], input: "/dev/null")
        let result = try await program.result(within: .seconds(180))
        #expect(result.code == 0, "\(result.output.suffix(6000)) \(result.errors.suffix(1000))")
        #expect(try await HTTPAnswer.of("/healthz", port: port).status == 200)
        gateway.terminate()
        _ = try await gateway.result(within: .seconds(60))
    }
}
