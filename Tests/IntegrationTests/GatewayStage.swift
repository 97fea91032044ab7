import Foundation
import TestSupport
import Testing

/// A broker, a history, a recorder that must have stored what is answered ok, and a gateway; all of it is gone with the test.
final class GatewayStage: Sendable {
    let recording: RecordStage
    /// Where the gateway listens, however often it is started.
    let port: Int
    private var state: [String] { ["--state", self.recording.folder.path()] }

    init() async throws {
        self.recording = try await RecordStage()
        self.port = try LoopbackPort.free()
    }

    /// Starts the recorder; returns once it takes in what comes.
    func recorder() async throws -> RunningProgram {
        let recorder = try self.recording.recorder()
        try await recorder.waitForLog("taking in")
        return recorder
    }

    /// Starts the gateway; returns once it listens.
    ///
    /// - Parameter broker: The broker's address, where the gateway reaches it another way.
    func gateway(at broker: String? = nil) async throws -> RunningProgram {
        let gateway = try Programs.start(
            "godwit",
            [
                "serve", "--broker", broker ?? self.recording.broker.url, "--listen", "127.0.0.1:\(self.port)",
                "--store", self.recording.address, "--acknowledge-by", "keeper", "--rate-limit", "100000",
            ] + self.state)
        try await gateway.waitForLog("listening on http://127.0.0.1:")
        return gateway
    }

    /// Makes a token.
    func token(_ name: String, _ rights: [String]) async throws -> String {
        let result = try await Programs.run("godwit", ["token", "create", "--name", name] + rights + self.state)
        #expect(result.code == 0, "\(result.errors)")
        return try #require(result.lines.first)
    }

    /// A phone that carries a trackable.
    func phone(_ trackable: String) async throws -> OverlandPhone {
        OverlandPhone(token: try await self.token(trackable, ["--publish", trackable]))
    }

    /// The times of a trackable's points in the history, as `godwit history` tells them.
    func times(of trackable: String) async throws -> [Int] {
        let result = try await Programs.run(
            "godwit", ["history", trackable, "--store", self.recording.address, "--format", "json"])
        #expect(result.code == 0, "\(result.errors)")
        return try result.lines.map { line in
            let feature = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return try #require(WireTap.properties(feature)["time"] as? Int)
        }
    }

    /// Checks that a trackable's history has a point for each of these times, one each, and that `godwit verify` misses nothing.
    func expectStoredOnce(_ times: [Int], of trackable: String) async throws {
        let stored = try await self.times(of: trackable)
        #expect(Set(stored) == Set(times), "\(Set(times).subtracting(stored).count) of \(times.count) are missing")
        #expect(stored.count == Set(stored).count, "stored twice")
        let verified = try await Programs.run("godwit", ["verify", trackable, "--store", self.recording.address])
        #expect(verified.code == 0, "\(verified.output) \(verified.errors)")
    }
}

/// A phone as Overland is one: it keeps what it recorded until it is told ok, and sends the oldest first, in batches of whatever
/// size, over a connection of its own each.
struct OverlandPhone: Sendable {
    let token: String
    /// What was not answered ok yet: Features.
    private(set) var queue: [String] = []

    init(token: String) { self.token = token }

    /// Records a fix of this second.
    mutating func record(latitude: Double, longitude: Double, time: Int) {
        let timestamp = Date(timeIntervalSince1970: Double(time)).formatted(.iso8601)
        self.queue.append(
            """
            {"type":"Feature","geometry":{"type":"Point","coordinates":[\(longitude),\(latitude)]},"properties":\
            {"timestamp":"\(timestamp)","altitude":12,"speed":4,"course":-1,"horizontal_accuracy":5,\
            "vertical_accuracy":3,"motion":["driving"],"wifi":"","battery_state":"unplugged","battery_level":0.85}}
            """)
    }

    /// Sends so many of the oldest, and forgets them where the answer is ok.
    ///
    /// - Returns: The answer; `nil` where none came whole.
    mutating func send(_ count: Int, to port: Int) async -> LoopbackHTTP.Answer? {
        let batch = self.queue.prefix(count)
        let answer = try? await LoopbackHTTP.request(
            "POST", "/overland", port: port,
            headers: [
                "Authorization": "Bearer \(self.token)", "Content-Type": "application/json",
                "User-Agent": "Overland/1.3 (iPhone; iOS 17.4; Scale/3.00)",
            ],
            body: "{\"locations\":[\(batch.joined(separator: ","))],\"current\":\(self.queue.last ?? "null")}",
            within: .seconds(60))
        if answer?.isTaken == true { self.queue.removeFirst(batch.count) }
        return answer
    }
}

extension LoopbackHTTP.Answer {
    private func member(_ name: String) -> String? {
        ((try? JSONSerialization.jsonObject(with: self.body)) as? [String: Any])?[name] as? String
    }

    /// Whether Overland takes it for "delivered".
    var isTaken: Bool { self.status == 200 && self.member("result") == "ok" }
    /// What Overland shows in place of that.
    var shownError: String? { self.status == 200 ? self.member("error") : nil }
}
