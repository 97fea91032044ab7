import Foundation
import TestSupport
import Testing

/// Two gateways that share their state in PostgreSQL, behind a proxy.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SeveralGatewaysDrillTests {
    private let server: PostgresServer
    private let stage: RecordStage
    private let ports: [Int]

    init() async throws {
        self.server = try await PostgresServer.start()
        self.stage = try await RecordStage(store: try await self.server.makeDatabase())
        self.ports = [try LoopbackPort.free(), try LoopbackPort.free()]
    }

    private var state: [String] { ["--state", self.stage.address] }

    private func gateway(_ index: Int) async throws -> RunningProgram {
        let gateway = try Programs.start(
            "godwit",
            [
                "serve", "--broker", self.stage.broker.url, "--client-id", "gateway-\(index)", "--listen",
                "127.0.0.1:\(self.ports[index])", "--store", self.stage.address, "--acknowledge-by", "keeper",
                "--rate-limit", "100000",
            ] + self.state,
            environment: ["STATE_DIRECTORY": self.stage.folder.appending(path: "gateway-\(index)").path()])
        try await gateway.waitForLog("listening on http://127.0.0.1:")
        return gateway
    }

    private func token(_ name: String, _ rights: [String]) async throws -> String {
        let result = try await Programs.run("godwit", ["token", "create", "--name", name] + rights + self.state)
        #expect(result.code == 0, "\(result.errors)")
        return try #require(result.lines.first)
    }

    /// Opens a live stream, again and again until it is accepted, and returns it with its first events.
    private func stream(
        at port: Int, _ token: String, after last: String? = nil
    ) async throws -> (connection: RawConnection, text: String) {
        let deadline = ContinuousClock.now + .seconds(60)
        let header = last.map { "Last-Event-ID: \($0)\r\n" } ?? ""
        while true {
            if let connection = try? RawConnection(port: port) {
                try? await connection.sendAll(
                    "GET /api/v1/live HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\(header)\r\n")
                let bytes = try? await connection.read(within: .seconds(10)) {
                    String(decoding: $0, as: UTF8.self).contains("event: hello")
                }
                let text = String(decoding: bytes ?? [], as: UTF8.self)
                if text.contains("event: hello") { return (connection, text) }
            }
            try #require(ContinuousClock.now < deadline, "no stream")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits until a gateway evaluates the rules, and returns its name in the lease.
    ///
    /// - Parameter former: The name of the gateway that has ended; `nil` for none.
    private func newOwner(than former: String?) async throws -> String {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let owner = try await self.server.value(
                "SELECT max(owner) FROM godwit_gateway.lease", in: self.stage.address)
            if !owner.isEmpty, owner != former { return owner }
            try #require(ContinuousClock.now < deadline, "no other gateway evaluates the rules")
            try await Task.sleep(for: .milliseconds(100))  // a row of the database is no event
        }
    }

    @Test func oneIsKilledAndTheOtherContinues() async throws {
        let recorder = try self.stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        // The first command makes the tables, so that the lease can be read below.
        let desk = try await self.token("desk", ["--read-all"])
        let first = try await self.gateway(0)
        let former = try await self.newOwner(than: nil)
        let second = try await self.gateway(1)
        let proxy = try FailoverProxy(to: self.ports)
        var phone = OverlandPhone(token: try await self.token("phone", ["--publish", "phone"]))
        let watched = try await self.stream(at: proxy.port, desk)

        let start = Int(Date().timeIntervalSince1970) - 100
        func send(_ times: Range<Int>) async throws {
            for time in times {
                phone.record(latitude: 52 + Double(time - start) * 1e-4, longitude: -8, time: time)
                let deadline = ContinuousClock.now + .seconds(60)
                while !phone.queue.isEmpty {
                    try #require(ContinuousClock.now < deadline, "\(phone.queue.count) records are not stored")
                    if await phone.send(10, to: proxy.port)?.isTaken != true {
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
            }
        }
        try await send(start..<start + 20)
        let before = try await watched.connection.read {
            String(decoding: $0, as: UTF8.self).contains(/id: [0-9a-f]+-[0-9]+-[0-9]+/)
        }
        first.signal(SIGKILL)
        let killed = ContinuousClock.now
        // The connection ends with the gateway.
        let rest = String(decoding: try await watched.connection.read(), as: UTF8.self)
        let seen = watched.text + String(decoding: before, as: UTF8.self) + rest
        let last = try #require(seen.matches(of: #/id: ([0-9a-f]+-[0-9]+-[0-9]+)/#).last?.1)
        let resumed = try await self.stream(at: proxy.port, desk, after: String(last))
        let pause = killed.duration(to: .now)
        #expect(pause <= .seconds(3), "\(pause)")
        // As after a restart of one gateway, the missed records and the current state follow.
        #expect(resumed.text.contains("event: reset"), "\(resumed.text)")
        try await send(start + 20..<start + 40)
        // The second gateway publishes its first record at once.
        _ = try await resumed.connection.read {
            String(decoding: $0, as: UTF8.self).contains("\"time\":\(start + 20),")
        }
        let stored = try await Programs.run(
            "godwit", ["history", "phone", "--store", self.stage.address, "--format", "csv"])
        #expect(stored.output.split(whereSeparator: \.isNewline).count >= 41, "\(stored.output)")

        _ = try await self.newOwner(than: former)

        let again = try await self.gateway(0)
        let streams = try await [self.stream(at: self.ports[0], desk), self.stream(at: self.ports[1], desk)]
        let revoked = try await Programs.run("godwit", ["token", "revoke", "desk"] + self.state)
        let done = ContinuousClock.now
        #expect(revoked.code == 0, "\(revoked.errors)")
        for stream in streams {
            _ = try await stream.connection.read { String(decoding: $0, as: UTF8.self).contains("event: end") }
        }
        let time = done.duration(to: .now)
        #expect(time <= .seconds(2), "\(time)")
        for port in self.ports {
            let answer = try await HTTPAnswer.of(
                "/api/v1/positions", port: port, headers: ["Authorization: Bearer \(desk)"])
            #expect(answer.status == 401)
        }
        for program in [again, second, recorder] {
            program.terminate()
            #expect(try await program.result(within: .seconds(60)).code == 0, "\(program.errors)")
        }
    }
}
