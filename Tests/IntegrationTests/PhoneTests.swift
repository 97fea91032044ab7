import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// Real requests of phones, with the built gateway and a real broker.
@Suite(.timeLimit(.minutes(10))) struct PhoneTests {
    private final class Scene: Sendable {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-phone-\(UUID().uuidString)")
        let broker: MosquittoProcess
        let tap: WireTap

        init() async throws {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
            self.broker = try await MosquittoProcess.start()
            self.tap = try await WireTap.listen(to: self.broker)
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func token(_ name: String, _ more: [String]) async throws -> String {
            let result = try await Programs.run(
                "godwit", ["token", "create", "--name", name, "--state", self.folder.path()] + more)
            try #require(result.code == 0, "\(result.errors)")
            return try #require(result.lines.first)
        }

        /// Sends a command as an operator.
        func command(_ arguments: [String]) async throws -> Programs.Result {
            try await Programs.run(
                "godwit", ["send"] + arguments + ["--broker", self.broker.url, "--timeout", "120"])
        }

        /// Starts the gateway, and returns its address.
        func serve(_ more: [String] = []) async throws -> (RunningProgram, URL) {
            let gateway = try Programs.start(
                "godwit",
                [
                    "serve", "--listen", "127.0.0.1:0", "--state", self.folder.path(), "--broker", self.broker.url,
                    "--log-level", "trace",
                ] + more)
            try await gateway.waitForLog("listening on http://")
            let line = gateway.errors.split(separator: "\n").first { $0.contains("listening on http://") }
            let address = line?.split(separator: " ").last.map(String.init) ?? ""
            return (gateway, try #require(URL(string: address)))
        }
    }

    private static func fixture(_ name: String) throws -> Data {
        try Data(contentsOf: Programs.root.appending(path: "Tests/Fixtures/Clients/\(name)"))
    }

    private static func send(
        _ body: Data?, to url: URL, _ headers: [String: String]
    ) async throws -> (status: Int, body: String) {
        var request = URLRequest(url: url)
        request.httpMethod = body == nil ? "GET" : "POST"
        request.httpBody = body
        request.timeoutInterval = 60
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await URLSession.shared.data(for: request)
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
    }

    @Test func overlandForIOSIsAPublisherWithoutAChange() async throws {
        let scene = try await Scene()
        let token = try await scene.token("jane", ["--publish", "bike"])
        let (gateway, address) = try await scene.serve(["--agent-broker", "mqtts://broker.example"])
        let headers = [
            "Authorization": "Bearer \(token)", "Content-Type": "application/json",
            "User-Agent": "Overland/1.3 (iPhone; iOS 17.4; Scale/3.00)",
        ]
        let url = address.appending(path: "overland")
        let body = try Self.fixture("overland-ios-1.3.json")
        let answer = try await Self.send(body, to: url, headers)
        #expect(answer.status == 200 && answer.body.contains(#""result":"ok""#), "\(answer.body)")
        // The phone repeats the request, as after a lost answer.
        #expect(try await Self.send(body, to: url, headers).status == 200)
        try await scene.tap.wait {
            !$0.updates(of: "bike").isEmpty && $0.events("VISIT", of: "bike").count == 1
                && !$0.messages(on: "bike/trip").isEmpty
        }
        #expect(scene.tap.updates(of: "bike").map(\.seq).count == 1, "sent twice, told once")

        // Overland's OwnTracks mode sends the token in this form, without base64.
        let inOwnTracksMode = try await Self.send(
            try Self.fixture("overland-owntracks-mode.json"), to: url,
            headers.merging(["Authorization": "Basic \(token):"]) { $1 })
        #expect(inOwnTracksMode.body.contains(#""result":"ok""#), "\(inOwnTracksMode)")

        let introduction = try await Self.send(nil, to: url, headers)
        #expect(
            introduction.body.contains(#""trackable":"bike""#) && introduction.body.contains("mqtts://broker.example"))
        #expect(try await Self.send(body, to: url, ["Authorization": "Bearer no"]).status == 401)
        #expect(!gateway.errors.contains(token), "the log has the token")
        gateway.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0)
    }

    @Test func ownTracksByHTTPIsAPublisherWithoutAChange() async throws {
        let scene = try await Scene()
        let token = try await scene.token("jane", ["--publish", "jane-phone"])
        let keys = scene.folder.appending(path: "keys.json")
        try Data(#"{"jane-phone":"harbour lights"}"#.utf8).write(to: keys)
        let (gateway, address) = try await scene.serve(["--owntracks-keys", keys.path()])
        let basic = Data("jane:\(token)".utf8).base64EncodedString()
        let headers = ["Authorization": "Basic \(basic)", "User-Agent": "Owntracks-Android/gms/420504000"]
        let url = address.appending(path: "owntracks")
        let encrypted = try await Self.send(try Self.fixture("owntracks-encrypted.json"), to: url, headers)
        #expect(encrypted.status == 200 && encrypted.body == "[]")
        try await scene.tap.wait { $0.updates(of: "jane-phone").count == 1 }
        #expect(try await Self.send(try Self.fixture("owntracks-messages.json"), to: url, headers).status == 200)
        try await scene.tap.wait { $0.events("ZONE", of: "jane-phone").count == 2 }
        gateway.terminate()
        _ = try await gateway.result(within: .seconds(60))
    }

    @Test func locationDataOfNextBillionIsPublished() async throws {
        let scene = try await Scene()
        let token = try await scene.token("jane", ["--publish", "bike"])
        let (gateway, address) = try await scene.serve()
        let headers = ["Authorization": "Bearer \(token)", "Content-Type": "application/json"]
        let url = address.appending(path: "nextbillion")
        let body = try Self.fixture("nextbillion-location-data.json")
        for _ in 0..<2 {
            let answer = try await Self.send(body, to: url, headers)
            #expect(answer.status == 200 && answer.body.contains(#""result":"ok""#), "\(answer.body)")
            #expect(answer.body.contains(#""saved":2"#) && answer.body.contains(#""refused":1"#), "\(answer.body)")
        }
        try await scene.tap.wait { $0.updates(of: "bike").last?.seq == 2 }
        let update = try #require(scene.tap.messages(on: "bike").last?.json["location"])
        #expect(WireTap.properties(update)["mode"] as? String == "BALANCED")
        #expect(try await Self.send(body, to: url, ["Authorization": "Bearer no"]).status == 401)
        gateway.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0)
    }

    /// The requests of NextBillion.ai's SDK: the token is in the parameter `key`, and every answer has a `status`.
    @Test func theUploadOfNextBillionsSDKIsPublished() async throws {
        let scene = try await Scene()
        let token = try await scene.token("jane", ["--publish", "bike"])
        let reader = try await scene.token("desk", ["--read-all"])
        let (gateway, address) = try await scene.serve(["--max-body", "2000"])
        let body = try Self.fixture("nextbillion-upload.json")
        func send(_ body: Data?, to path: String, _ key: String?) async throws -> (Int, [String: String]) {
            let query = key.map { [URLQueryItem(name: "key", value: $0)] } ?? []
            let answer = try await Self.send(
                body, to: address.appending(path: path).appending(queryItems: query),
                ["Content-Type": "application/json", "User-Agent": "OkHttp"])
            let members = try JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: String]
            return (answer.status, try #require(members, "\(answer.body)"))
        }
        for _ in 0..<2 {
            let (status, members) = try await send(body, to: "skynet/asset/bike/track", token)
            #expect(status == 200 && members == ["status": "Ok"])
        }
        try await scene.tap.wait { $0.updates(of: "bike").last?.seq == 2 }
        let update = try #require(scene.tap.messages(on: "bike").last?.json["location"])
        #expect(WireTap.properties(update)["mode"] as? String == "ACTIVE")

        let failures: [(Data?, String, String?, Int, String)] = [
            (body, "skynet/asset/bike/track", "no", 401, "Unauthorized"),
            (body, "skynet/asset/bike/track", nil, 401, "Unauthorized"),
            (body, "skynet/asset/bike/track", reader, 403, "Forbidden"),
            (body, "skynet/asset/truck/track", token, 403, "Forbidden"),
            (Data("{}".utf8), "skynet/asset/bike/track", token, 400, "Bad Request"),
            (Data(repeating: 0x20, count: 2_001), "skynet/asset/bike/track", token, 413, "Payload Too Large"),
            (body, "skynet/asset/bike/bind", token, 404, "Not Found"),
            (nil, "skynet/asset/bike/track", token, 405, "Method Not Allowed"),
        ]
        for (body, path, key, expected, phrase) in failures {
            let (status, members) = try await send(body, to: path, key)
            #expect(status == expected && members["status"] == phrase, "\(path) \(status) \(members)")
            #expect(members.count == 2 && members["message"]?.isEmpty == false, "\(members)")
        }
        // The parameter belongs to this interface only.
        let other = address.appending(path: "nextbillion").appending(queryItems: [
            URLQueryItem(name: "key", value: token)
        ])
        #expect(try await Self.send(body, to: other, [:]).status == 401)
        #expect(!gateway.errors.contains(token) && !gateway.errors.contains(reader), "the log has a token")
        gateway.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0)
    }

    /// A phone shows the trackables that its token may read, and executes an operator's commands, with either app.
    @Test func phonesGetFriendsAndCommandsWithTheirAnswers() async throws {
        let scene = try await Scene()
        let jane = try await scene.token("jane", ["--publish", "jane-phone", "--read", "bike"])
        let bike = try await scene.token("bike", ["--publish", "bike"])
        let (gateway, address) = try await scene.serve(["--allow-commands"])
        let overland = ["Authorization": "Bearer \(bike)", "User-Agent": "Overland/1.3 (iPhone; iOS 17.4; Scale/3.00)"]
        let basic = Data("jane:\(jane)".utf8).base64EncodedString()
        let ownTracks = ["Authorization": "Basic \(basic)", "User-Agent": "Owntracks-Android/gms/420504000"]
        let batch = try Self.fixture("overland-ios-1.3.json")
        let location = try Self.fixture("owntracks-android-location.json")
        func postAsBike() async throws -> String {
            try await Self.send(batch, to: address.appending(path: "overland"), overland).body
        }
        func postAsJane() async throws -> String {
            try await Self.send(location, to: address.appending(path: "owntracks"), ownTracks).body
        }
        #expect(try await !postAsBike().contains("\"set\""))
        // The gateway receives the position of the other phone from the broker.
        try await waitUntil { try await postAsJane().contains(#""topic":"owntracks/godwit/bike""#) }

        async let set = scene.command(["configure", "bike", "--argument", "batch-window=300"])
        try await waitUntil { try await postAsBike().contains(#""set":{"send_interval":"5m"}"#) }
        #expect(try await set.output == "bike: done {\"delivered\":\"Overland\"}\n")
        async let report = scene.command(["report", "jane-phone"])
        try await waitUntil { try await postAsJane().contains(#""action":"reportLocation""#) }
        #expect(try await report.output == "jane-phone: done {\"delivered\":\"OwnTracks\"}\n")
        let off = try await scene.command(["off", "bike"])
        #expect(off.code == 1 && off.output.contains("UNKNOWN_COMMAND"))
        gateway.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0)
    }

    @Test func withoutTheBrokerThePhoneKeepsIt() async throws {
        let scene = try await Scene()
        let token = try await scene.token("jane", ["--publish", "bike"])
        let (gateway, address) = try await scene.serve()
        try await scene.broker.stop()
        let url = address.appending(path: "overland").appending(queryItems: [URLQueryItem(name: "token", value: token)])
        let body = try Self.fixture("overland-bare-list.json")
        let answer = try await Self.send(body, to: url, ["User-Agent": "Overland/1.3"])
        #expect(answer.status == 200 && answer.body.contains(#""error""#) && !answer.body.contains("result"))
        gateway.terminate()
        _ = try await gateway.result(within: .seconds(60))
    }
}
