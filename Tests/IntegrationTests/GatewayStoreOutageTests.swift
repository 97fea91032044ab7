import Foundation
import TestSupport
import Testing

/// A gateway whose PostgreSQL is killed and returns. Requests that need the history fail in time with a reason, and
/// other requests are answered.
@Suite(.timeLimit(.minutes(5))) struct GatewayStoreOutageTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-outage-\(UUID().uuidString)")

    /// The longest time for an answer without a database.
    private static let patience = Duration.seconds(60)

    @Test func theHistoryIsAwayAndComesBack() async throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let database = try await PostgresServer.start()
        let store = ["--store", try await database.makeDatabase()]
        try await self.importDrive(store)
        let broker = try await MosquittoProcess.start()
        let gateway = try Programs.start(
            "godwit",
            ["serve", "--broker", broker.url, "--listen", "127.0.0.1:0", "--rate-limit", "10000"] + self.state + store)
        try await gateway.waitForLog("listening on http://127.0.0.1:")
        let match = try #require(gateway.errors.firstMatch(of: #/listening on http://127\.0\.0\.1:(\d+)/#))
        let port = try #require(Int(match.1))
        let reader = "Authorization: Bearer \(try await self.token("desk", ["--read-all"]))"
        var phone = OverlandPhone(token: try await self.token("phone", ["--publish", "phone"]))

        try await self.wait(until: "ready", for: "/readyz", port, reader) { $0.status == 200 }
        let path = "/api/v1/trackables/van/history?format=csv"
        let before = try await HTTPAnswer.of(path, port: port, headers: [reader])
        #expect(before.status == 200 && before.text.count > 2000)
        let stream = try RawConnection(port: port)
        try await stream.sendAll("GET /api/v1/live HTTP/1.1\r\nHost: x\r\n\(reader)\r\n\r\n")
        _ = try await stream.read { String(decoding: $0, as: UTF8.self).contains("event: hello") }

        try await database.kill()
        for path in [
            path, "/api/v1/trackables", "/api/v1/positions", "/api/v1/trackables/van/trips",
            "/api/v1/trackables/van/events",
        ] {
            let answer = try await HTTPAnswer.of(path, port: port, headers: [reader], within: Self.patience)
            #expect(answer.status == 503, "\(path) \(answer.status) \(answer.text)")
            #expect(answer.headers.contains("Content-Type: application/problem+json"), "\(answer.headers)")
            #expect(answer.headers.contains { $0.hasPrefix("Retry-After: ") })
        }
        let readiness = try await HTTPAnswer.of("/readyz", port: port, headers: [reader], within: Self.patience)
        #expect(readiness.status == 503 && readiness.text.contains(#""history":false"#), "\(readiness.text)")
        #expect(readiness.text.contains(#""broker":true"#) && readiness.text.contains(#""intake":true"#))
        #expect(try await HTTPAnswer.of("/healthz", port: port).status == 200)
        // The gateway's own recorder cannot store the record: the phone has to send it again, and watchers receive the
        // position.
        phone.record(latitude: 52, longitude: -8, time: Int(Date().timeIntervalSince1970))
        let refused = await phone.send(1, to: port)
        #expect(refused?.shownError?.contains("no recorder has acknowledged") == true, "\(refused?.text ?? "none")")
        let reported = try await stream.read { String(decoding: $0, as: UTF8.self).contains("event: position") }
        #expect(String(decoding: reported, as: UTF8.self).contains(#""trackable":"phone""#))

        try await database.restart()
        try await self.wait(until: "ready again", for: "/readyz", port, reader) { $0.status == 200 }
        let after = try await HTTPAnswer.of(path, port: port, headers: [reader], within: Self.patience)
        #expect(after.status == 200 && after.text == before.text)
        while !phone.queue.isEmpty {
            let answer = await phone.send(1, to: port)
            try #require(answer?.isTaken == true || answer?.shownError != nil, "\(answer?.text ?? "none")")
        }
        let stored = try await Programs.run("godwit", ["history", "phone", "--format", "csv"] + store)
        #expect(stored.output.split(whereSeparator: \.isNewline).count == 2, "\(stored.output)")
        gateway.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0, "\(gateway.errors)")
    }

    /// The order after a power cut, when the database takes longer to start.
    @Test func aGatewayStartsBeforeItsDatabase() async throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let database = try await PostgresServer.start()
        let store = ["--store", try await database.makeDatabase()]
        try await self.importDrive(store)
        let broker = try await MosquittoProcess.start()
        let reader = "Authorization: Bearer \(try await self.token("desk", ["--read-all"]))"
        let serve = ["serve", "--broker", broker.url, "--listen", "127.0.0.1:0"] + self.state + store
        try await database.kill()

        let hasty = try await Programs.run("godwit", serve + ["--fail-fast"])
        #expect(hasty.code == 66 && hasty.errors.contains("cannot be reached"), "\(hasty.code) \(hasty.errors)")
        let gateway = try Programs.start("godwit", serve)
        try await gateway.waitForLog("listening on http://127.0.0.1:")
        #expect(gateway.errors.contains("History server cannot be reached"), "\(gateway.errors)")
        let match = try #require(gateway.errors.firstMatch(of: #/listening on http://127\.0\.0\.1:(\d+)/#))
        let port = try #require(Int(match.1))
        let path = "/api/v1/trackables/van/history?format=csv"
        #expect(try await HTTPAnswer.of(path, port: port, headers: [reader], within: Self.patience).status == 503)
        #expect(try await HTTPAnswer.of("/healthz", port: port).status == 200)

        try await database.restart()
        try await self.wait(until: "ready", for: "/readyz", port, reader) { $0.status == 200 }
        #expect(try await HTTPAnswer.of(path, port: port, headers: [reader], within: Self.patience).status == 200)
        gateway.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0, "\(gateway.errors)")
    }

    private var state: [String] { ["--state", self.folder.path()] }

    private func importDrive(_ store: [String]) async throws {
        let rows = (0..<100).map { "\(1_790_000_000 + $0),\(52 + Double($0) * 1e-4),-8" }
        let file = self.folder.appending(path: "drive.csv")
        try Data("time,latitude,longitude\n\(rows.joined(separator: "\n"))\n".utf8).write(to: file)
        let result = try await Programs.run("godwit", ["import", file.path(), "--trackable", "van"] + store)
        #expect(result.code == 0, "\(result.errors)")
    }

    private func token(_ name: String, _ rights: [String]) async throws -> String {
        let result = try await Programs.run("godwit", ["token", "create", "--name", name] + rights + self.state)
        #expect(result.code == 0, "\(result.errors)")
        return try #require(result.lines.first)
    }

    private func wait(
        until what: String, for path: String, _ port: Int, _ header: String,
        _ isSo: @Sendable (HTTPAnswer) -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let answer = try await HTTPAnswer.of(path, port: port, headers: [header], within: Self.patience)
            if isSo(answer) { return }
            try #require(ContinuousClock.now < deadline, "not \(what): \(answer.text)")
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
