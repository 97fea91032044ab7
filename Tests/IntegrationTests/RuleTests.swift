import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// Names, fences, rules and webhooks as a user configures them: the built gateway, a real broker, and a receiver of
/// HTTP requests.
@Suite(.timeLimit(.minutes(10))) struct RuleTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-rules-\(UUID().uuidString)")

    /// Prints the signature and the body of each request, one per line, and answers 503 to the first.
    private static let receiver = """
        import http.server, sys
        class Hook(http.server.BaseHTTPRequestHandler):
            count = 0
            def do_POST(self):
                body = self.rfile.read(int(self.headers['content-length'])).decode()
                print(self.headers['godwit-signature'], body, flush=True)
                Hook.count += 1
                self.send_response(503 if Hook.count == 1 else 200)
                self.send_header('content-length', '0')
                self.end_headers()
            def log_message(self, *arguments): pass
        server = http.server.HTTPServer(('127.0.0.1', 0), Hook)
        print('port', server.server_port, flush=True)
        server.serve_forever()
        """

    private func run(_ arguments: [String]) async throws -> Programs.Result {
        try await Programs.run("godwit", arguments + ["--state", self.folder.path()])
    }

    private func ok(_ arguments: [String]) async throws -> [String] {
        let result = try await self.run(arguments)
        #expect(result.code == 0, "\(arguments): \(result.errors)")
        return result.output.split(separator: "\n").map { String($0) }
    }

    /// Sends a current position that is a number of degrees north of the depot.
    private func send(_ latitude: Double, to port: Int, _ token: String, secondsAgo: Double = 0) async throws {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/points"))
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("Bearer \(token)", forHTTPHeaderField: "authorization")
        request.httpBody = Data(
            """
            {"type":"Feature","geometry":{"type":"Point","coordinates":[-8.63,\(latitude)]},
            "properties":{"time":\(Date().timeIntervalSince1970 - secondsAgo)}}
            """.utf8)
        let (data, response) = try await URLSession.shared.data(for: request)
        #expect((response as? HTTPURLResponse)?.statusCode == 200, "\(String(decoding: data, as: UTF8.self))")
    }

    @Test func aRulesEventIsPublishedAndSentToTheWebhook() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let broker = try await MosquittoProcess.start()
        let tap = try await WireTap.listen(to: broker)
        let hook = try RunningProgram("/usr/bin/python3", ["-c", Self.receiver])
        defer { hook.terminate() }
        try await hook.wait(for: "port ")
        let place = try #require(hook.output.firstMatch(of: #/port (\d+)/#)).1
        let label = try await self.ok(["trackables", "set", "van-7", "name=Van 7", "group=north"])
        #expect(label == [#"{"groups":["north"],"id":"van-7","name":"Van 7"}"#])
        _ = try await self.ok(["fence", "add", "depot", "--circle", "52.66,-8.63", "--radius", "150"])
        _ = try await self.ok(["rule", "add", "home", "--enter", "depot", "--group", "north"])
        let token = try #require(
            try await self.ok(["token", "create", "--name", "phone", "--publish", "van-7"]).first)
        let desk = try #require(try await self.ok(["token", "create", "--name", "desk", "--read-all"]).first)
        let secret = self.folder.appending(path: "secret")
        try "a secret of enough bytes\n".write(to: secret, atomically: true, encoding: .utf8)
        let gateway = try Programs.start(
            "godwit",
            [
                "serve", "--broker", broker.url, "--listen", "127.0.0.1:0", "--state", self.folder.path(), "--webhook",
                "http://127.0.0.1:\(place)/hook", "--webhook-secret-file", secret.path(), "--webhook-kinds", "event",
            ])
        try await gateway.waitForLog("listening on http://127.0.0.1:")
        let port = try #require(
            gateway.errors.firstMatch(of: #/listening on http://127\.0\.0\.1:(\d+)/#).flatMap { Int($0.1) })
        // Rules evaluate live positions: a watcher requests a high resolution.
        let watcher = try Programs.start(
            "godwit", ["watch", "van-7", "--broker", broker.url, "--resolution", "MAXIMUM/0/0"])
        defer { watcher.terminate() }
        try await waitUntil { tap.messages.contains { $0.topic.hasPrefix("tracking/van-7/request/") } }
        try await self.send(52.67, to: port, token, secondsAgo: 5)
        try await waitUntil { !tap.updates(of: "van-7").isEmpty }
        try await waitUntil {
            tap.messages(on: "van-7/resolution").contains { $0.payload.contains(#""desiredInterval":500,"#) }
        }
        try await self.send(52.6601, to: port, token)
        try await waitUntil { !tap.events("FENCE_ENTERED", of: "van-7").isEmpty }
        let event = try #require(tap.events("FENCE_ENTERED", of: "van-7").first)
        #expect((event["detail"] as? [String: Any])?["rule"] as? String == "home" && event["seq"] as? Int == 1)
        // The first delivery was rejected and repeated unchanged.
        try await waitUntil { hook.output.components(separatedBy: "FENCE_ENTERED").count >= 3 }
        let deliveries = hook.output.split(separator: "\n").filter { $0.contains("FENCE_ENTERED") }
            .compactMap { $0.split(separator: " ", maxSplits: 1).last }
        #expect(deliveries.count >= 2 && Set(deliveries).count == 1)
        let seen = try await LoopbackHTTP.request(
            "GET", "/api/v1/trackables", port: port, headers: ["Authorization": "Bearer \(desk)"])
        #expect(seen.text.contains(#""groups":["north"],"id":"van-7","name":"Van 7""#), "\(seen.text)")
        // A new rule applies to the running gateway within a second or two.
        _ = try await self.ok(["rule", "add", "away", "--leave", "depot"])
        _ = try await self.ok(["rule", "remove", "home"])
        let table = try await self.ok(["rule", "list"])
        #expect(table == ["name  trackables  condition  fence", "away  all         leave      depot"])
        let lines = try await self.ok(["rule", "list", "--format", "json"])
        #expect(lines == [#"{"name":"away","rule":{"fence":"depot","when":"leave"}}"#])
        // The gateway knows the position of the van: the first crossing is an event.
        let database = self.folder.appending(path: "gateway.sqlite").path()
        try await waitUntil {
            let known = try await RunningProgram(
                "/usr/bin/sqlite3", [database, "SELECT holds FROM ruleState WHERE rule = 'away'"]
            ).result(within: .seconds(60))
            return known.lines == ["1"]
        }
        try await self.send(52.67, to: port, token)
        try await waitUntil { !tap.events("FENCE_LEFT", of: "van-7").isEmpty }
        #expect(tap.events("FENCE_LEFT", of: "van-7").count == 1)
        // One trackable was already silent, and the other never had a position.
        _ = try await self.ok(["rule", "add", "lost", "--silent", "2s", "--trackable", "van-7", "--trackable", "bus"])
        for id in ["van-7", "bus"] { try await waitUntil { !tap.events("SILENT", of: id).isEmpty } }
        #expect(tap.events("FENCE_ENTERED", of: "van-7").count == 1)
        gateway.terminate()
        let ended = try await gateway.result(within: .seconds(60))
        #expect(ended.code == 0 && !ended.errors.contains("a secret of enough"), "\(ended.errors)")
    }

    /// A batch without `current` moves rules by its newest point, once. An older point never moves them.
    @Test func aPhonesBatchMovesRulesOnceAndNeverBack() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let broker = try await MosquittoProcess.start()
        let tap = try await WireTap.listen(to: broker)
        _ = try await self.ok(["fence", "add", "depot", "--circle", "52.66,-8.63", "--radius", "150"])
        for rule in ["enter", "leave"] { _ = try await self.ok(["rule", "add", rule, "--\(rule)", "depot"]) }
        var phones: [String: String] = [:]
        for name in ["overland", "owntracks"] {
            phones[name] = try await self.ok(["token", "create", "--name", name, "--publish", name]).first
        }
        let gateway = try Programs.start(
            "godwit",
            ["serve", "--broker", broker.url, "--listen", "127.0.0.1:0", "--state", self.folder.path(), "--no-store"])
        try await gateway.waitForLog("listening on http://127.0.0.1:")
        let port = try #require(
            gateway.errors.firstMatch(of: #/listening on http://127\.0\.0\.1:(\d+)/#).flatMap { Int($0.1) })
        let now = Date().timeIntervalSince1970.rounded(.down)
        func send(_ phone: String, _ points: [(ago: Double, latitude: Double)]) async throws {
            let token = try #require(phones[phone])
            let bodies =
                phone == "overland"
                ? [
                    "{\"locations\":["
                        + points.map { point in
                            let time = Date(timeIntervalSince1970: now - point.ago).formatted(.iso8601)
                            return """
                                {"type":"Feature","geometry":{"type":"Point","coordinates":[-8.63,\(point.latitude)]},\
                                "properties":{"timestamp":"\(time)","horizontal_accuracy":5}}
                                """
                        }.joined(separator: ",") + "]}"
                ]
                : points.map { point in
                    """
                    {"_type":"location","lat":\(point.latitude),"lon":-8.63,"tst":\(Int(now - point.ago)),"acc":5,"tid":"ot"}
                    """
                }
            for body in bodies {
                let answer = try await LoopbackHTTP.request(
                    "POST", "/\(phone)", port: port,
                    headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"], body: body)
                #expect(answer.status == 200, "\(answer.text)")
            }
        }
        // Rules evaluate live positions: watchers request a high resolution.
        let watchers = try phones.keys.map { phone in
            try Programs.start("godwit", ["watch", phone, "--broker", broker.url, "--resolution", "MAXIMUM/0/0"])
        }
        defer { for watcher in watchers { watcher.terminate() } }
        for phone in phones.keys {
            try await waitUntil { tap.messages.contains { $0.topic.hasPrefix("tracking/\(phone)/request/") } }
            try await send(phone, [(90, 52.68)])
            try await waitUntil {
                tap.messages(on: "\(phone)/resolution").contains { $0.payload.contains(#""desiredInterval":500,"#) }
            }
            try await send(phone, [(60, 52.67), (30, 52.665), (10, 52.66)])
            try await waitUntil { !tap.events("FENCE_ENTERED", of: phone).isEmpty }
            // A backlog, and the same batch again.
            try await send(phone, [(3600, 52.66), (3000, 52.67), (40, 52.67)])
            try await send(phone, [(60, 52.67), (30, 52.665), (10, 52.66)])
        }
        // There is no condition for the absence of an event.
        try await Task.sleep(for: .seconds(2))
        for phone in phones.keys {
            #expect(tap.events("FENCE_ENTERED", of: phone).count == 1, "\(phone)")
            #expect(tap.events("FENCE_LEFT", of: phone).isEmpty, "\(phone)")
        }
        gateway.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0, "\(gateway.errors)")
    }

    /// A device that was restarted during an outage sends its events and trips only in batches, possibly several times.
    @Test func recordsOfADevicesOutageAreDeliveredOnce() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let broker = try await MosquittoProcess.start()
        let hook = try RunningProgram("/usr/bin/python3", ["-c", Self.receiver])
        defer { hook.terminate() }
        try await hook.wait(for: "port ")
        let place = try #require(hook.output.firstMatch(of: #/port (\d+)/#)).1
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let secret = self.folder.appending(path: "secret")
        try "a secret of enough bytes\n".write(to: secret, atomically: true, encoding: .utf8)
        let gateway = try Programs.start(
            "godwit",
            [
                "serve", "--broker", broker.url, "--listen", "127.0.0.1:0", "--state", self.folder.path(), "--no-store",
                "--webhook", "http://127.0.0.1:\(place)/hook", "--webhook-secret-file", secret.path(),
            ])
        try await gateway.waitForLog("listening on http://127.0.0.1:")
        let then = Date().timeIntervalSince1970 - 3600
        let event = #"{"id":"e4","stream":"one","seq":4,"time":\#(then),"kind":"LOW_BATTERY","detail":{}}"#
        let trip = """
            {"tripId":"t","mode":"car","state":"ENDED","start":\(then - 60),"end":\(then),"distance":9,"duration":60,\
            "stream":"one","seq":5}
            """
        let batch = #"{"batch":"b","stream":"one","oldest":1,"points":[],"trips":[\#(trip)],"events":[\#(event)]}"#
        func publish(_ topic: String, _ payload: String) async throws {
            let options = ["-p", "\(broker.port)", "-q", "1", "-t", "tracking/van/\(topic)", "-m", payload]
            let sent = try await RunningProgram("/usr/bin/mosquitto_pub", options).result(within: .seconds(60))
            #expect(sent.code == 0, "\(sent.errors)")
        }
        // Messages before the gateway's subscription are lost.
        try await waitUntil {
            try await publish("history", batch)
            return hook.output.contains(#""tripId":"t""#)
        }
        try await publish("history", batch)
        try await publish("event", event)
        try await publish("event", event.replacingOccurrences(of: "e4", with: "e9").replacing(":4,", with: ":9,"))
        try await waitUntil { hook.output.contains(#""id":"e9""#) }
        // The first delivery was rejected, and repeated with the same ids.
        let ids = hook.output.matches(of: #/"id":(\d+),"kind":"(event|trip)"/#).map(\.1)
        #expect(Set(ids).count == 3, "\(hook.output)")
        gateway.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0, "\(gateway.errors)")
    }

    @Test func theErrorNamesTheInvalidSetting() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let missing = try await self.run(["rule", "add", "home", "--enter", "depot"])
        #expect(missing.code != 0 && missing.errors.contains("there is no fence 'depot'"))
        let both = try await self.run(["rule", "add", "home", "--enter", "depot", "--arrived"])
        #expect(both.code == 64)
        let far = try await self.run(["fence", "add", "x", "--circle", "52,-8", "--radius", "5"])
        #expect(far.code != 0 && far.errors.contains("10 to 100000 m"))
        let colour = try await self.run(["trackables", "set", "van-7", "colour=red"])
        #expect(colour.code != 0 && colour.errors.contains("name, icon or group"))
        for name in ["a\u{1B}[2J", "a\u{9B}", "a\u{202E}b"] {
            let label = try await self.run(["trackables", "set", "van-7", "name=\(name)"])
            #expect(label.code != 0 && label.errors.contains("no control characters"))
            let token = try await self.run(["token", "create", "--name", name, "--read-all"])
            #expect(token.code == 64 && token.errors.contains("without control characters"))
        }
        let noJSON = try await self.run(["fence", "add", "x", "--geojson", "/dev/null"])
        #expect(noJSON.code == 66 && noJSON.errors.contains("from '/dev/null': the text is not JSON"))
        #expect(try await self.run(["fence", "remove", "none"]).code == 1)
        let hook = try await self.run([
            "serve", "--listen", "127.0.0.1:0", "--no-store", "--webhook", "https://example.org",
        ])
        #expect(hook.code != 0 && hook.errors.contains("webhooks need a secret"))
    }
}
