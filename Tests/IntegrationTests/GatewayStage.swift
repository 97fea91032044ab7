import Foundation
import TestSupport
import Testing

/// A broker, a history, a recorder that must store records before they are answered ok, and a gateway. Everything is
/// removed with the test.
final class GatewayStage: Sendable {
    let recording: RecordStage
    /// The gateway's port, the same after each restart.
    let port: Int
    private var state: [String] { ["--state", self.recording.folder.path()] }

    init() async throws {
        self.recording = try await RecordStage()
        self.port = try LoopbackPort.free()
    }

    /// Starts the recorder, and returns when it receives records.
    func recorder() async throws -> RunningProgram {
        let recorder = try self.recording.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        return recorder
    }

    /// Starts the gateway, and returns when it accepts connections.
    ///
    /// - Parameter broker: The broker's address, if the gateway reaches it another way.
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

    /// Creates a token.
    func token(_ name: String, _ rights: [String]) async throws -> String {
        let result = try await Programs.run("godwit", ["token", "create", "--name", name] + rights + self.state)
        #expect(result.code == 0, "\(result.errors)")
        return try #require(result.lines.first)
    }

    /// Returns a phone that tracks a trackable.
    func phone(_ trackable: String) async throws -> OverlandPhone {
        OverlandPhone(token: try await self.token(trackable, ["--publish", trackable]))
    }

    /// Returns the times of a trackable's points in the output of `godwit history`.
    func times(of trackable: String) async throws -> [Int] {
        let result = try await Programs.run(
            "godwit", ["history", trackable, "--store", self.recording.address, "--format", "json"])
        #expect(result.code == 0, "\(result.errors)")
        return try result.lines.map { line in
            let feature = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return try #require(WireTap.properties(feature)["time"] as? Int)
        }
    }

    /// Checks that a trackable's history has exactly one point for each of these times, and that `godwit verify`
    /// reports nothing missing.
    func expectStoredOnce(_ times: [Int], of trackable: String) async throws {
        let stored = try await self.times(of: trackable)
        #expect(Set(stored) == Set(times), "\(Set(times).subtracting(stored).count) of \(times.count) are missing")
        #expect(stored.count == Set(stored).count, "stored twice")
        let verified = try await Programs.run("godwit", ["verify", trackable, "--store", self.recording.address])
        #expect(verified.code == 0, "\(verified.output) \(verified.errors)")
    }
}

/// A phone that behaves like Overland: it keeps its records until the answer is ok, and sends the oldest first, in
/// batches of any size, each over its own connection.
struct OverlandPhone: Sendable {
    let token: String
    /// The Features that were not answered ok yet.
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

    /// Sends a number of the oldest records, and removes them if the answer is ok.
    ///
    /// - Returns: The answer; `nil` if no complete answer arrived.
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

    /// `true` if Overland treats the answer as "delivered".
    var isTaken: Bool { self.status == 200 && self.member("result") == "ok" }
    /// The error that Overland shows for an answer that is not "delivered".
    var shownError: String? { self.status == 200 ? self.member("error") : nil }
}
