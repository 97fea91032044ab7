import Foundation
import TestSupport
import Testing
import TrackingCore

/// Malicious names and bodies, with the built gateway and a real broker.
@Suite(.serialized, .timeLimit(.minutes(10))) struct GatewayInjectionTests {
    private static let feature =
        #"{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.5,52.5]},"properties":{"timestamp":"2024-05-01T12:00:00Z"}}"#

    /// Encodes a text for one part of a path or query.
    private static func encoded(_ text: String) -> String {
        text.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func post(
        _ path: String, _ stage: GatewayStage, _ token: String, _ headers: [String] = [], body: String = feature
    ) async throws -> HTTPAnswer {
        try await HTTPAnswer.of(
            path, method: "POST", port: stage.port, headers: ["Authorization: Bearer \(token)"] + headers, body: body)
    }

    /// A character with a meaning in topics is an ordinary character of a trackable's id, in any place.
    @Test func anIDStaysOneLevelOfATopic() async throws {
        let ids = [
            "van/history", "#", "+", "a/#", "$SYS/broker", "_clients", "..", "=2F", "van\u{2028}x", "é/🚐",
            "van%2Fack", " ",
        ]
        let stage = try await GatewayStage()
        let tap = try await WireTap.listen(to: stage.recording.broker, ["#"])
        let (recorder, gateway) = try await (stage.recorder(), stage.gateway())
        let token = try await stage.token("all", ids.flatMap { ["--publish", $0, "--read", $0] })
        for id in ids {
            let answer = try await Self.post("/overland?device=\(Self.encoded(id))", stage, token)
            #expect(answer.status == 200 && answer.text.contains("\"result\":\"ok\""), "\(id): \(answer.text)")
            let read = try await HTTPAnswer.of(
                "/api/v1/trackables/\(Self.encoded(id))/history", port: stage.port,
                headers: ["Authorization: Bearer \(token)"])
            #expect(read.status == 200 && read.text.contains("-8.5"), "\(id): \(read.status) \(read.text)")
        }
        // An id that is invalid or not allowed is published on no topic.
        let foreign = [
            "van", "van/live", "van/history/", "van/history\u{0}", "+\n", "#\r\nX-Injected: 1", "van/history#",
            "\u{7F}",
            String(repeating: "#", count: 1_000), "tracking/van", "a/+/b",
        ]
        for id in foreign {
            let answer = try await Self.post("/points?device=\(Self.encoded(id))", stage, token)
            let status = (try? TrackableID(id)) == nil ? 400 : 403
            #expect(answer.status == status && answer.text.contains("device"), "\(id.debugDescription): \(answer.text)")
            #expect(!answer.headers.contains { $0.hasPrefix("X-Injected") })
        }
        let topic = try await Self.post(
            "/owntracks", stage, token,
            body: #"{"_type":"location","lat":52.5,"lon":-8.5,"tst":1714564800,"topic":"owntracks/#/van/+"}"#)
        #expect(topic.status == 400)
        let device = try await Self.post("/points", stage, token, ["X-Limit-U: +", "X-Limit-D: #/../van"])
        #expect(device.status == 400)

        let levels = Set(try ids.map { try TrackableID($0).topicLevel })
        for message in tap.messages where message.topic.hasPrefix("tracking/") {
            let parts = message.topic.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            #expect(levels.contains(parts[1]) || ["_clients"].contains(parts[1]), "\(message.topic)")
        }
        #expect(tap.messages.allSatisfy { $0.topic == "tap" || $0.topic.hasPrefix("tracking/") })
        for level in levels { #expect(tap.messages.contains { $0.topic.hasPrefix("tracking/\(level)") }, "\(level)") }
        try await stage.recording.end(gateway, recorder)
    }

    /// A device's own id is data: it selects nothing, and stays in its field.
    @Test func aDeviceIDIsData() async throws {
        let stage = try await GatewayStage()
        let tap = try await WireTap.listen(to: stage.recording.broker, ["#"])
        let (recorder, gateway) = try await (stage.recorder(), stage.gateway())
        let token = try await stage.token("van", ["--publish", "van"])
        let names = ["other", "../other", "#", "+/+", #"a\u0000b"#, #"a\r\nX-Injected: 1"#, "tracking/other"]
        let features = names.enumerated().map { index, name in
            Self.feature.replacing("12:00:00Z\"", with: "12:00:0\(index)Z\",\"device_id\":\"\(name)\"")
        }
        let answer = try await Self.post(
            "/overland", stage, token, body: "{\"locations\":[\(features.joined(separator: ","))]}")
        #expect(answer.status == 200 && answer.text.contains("\"result\":\"ok\""), "\(answer.text)")
        #expect(!answer.headers.contains { $0.hasPrefix("X-Injected") })
        try await stage.expectStoredOnce((0..<names.count).map { 1_714_564_800 + $0 }, of: "van")
        #expect(tap.messages.allSatisfy { !$0.topic.contains("other") })
        try await stage.recording.end(gateway, recorder)
    }

    @Test func anIDInAURLAddsNoHeader() async throws {
        let stage = try await GatewayStage()
        let (recorder, gateway) = try await (stage.recorder(), stage.gateway())
        let token = try await stage.token("desk", ["--admin"])
        for id in ["van\r\nX-Injected: 1", "van\u{0}", "\r\n\r\n<html>", "../../etc/passwd", "van\"\r\nX-Injected: 1"] {
            for end in ["", "/history?format=gpx", "/history?format=csv", "/position", "/trips", "/events"] {
                let path = "/api/v1/trackables/\(Self.encoded(id))\(end)"
                let answer = try await HTTPAnswer.of(
                    path, port: stage.port, headers: ["Authorization: Bearer \(token)"])
                #expect((400..<500).contains(answer.status), "\(path): \(answer.status)")
                #expect(!answer.headers.contains { $0.hasPrefix("X-Injected") }, "\(path)")
            }
        }
        #expect(try await HTTPAnswer.of("/healthz", port: stage.port).status == 200)
        try await stage.recording.end(gateway, recorder)
    }

    // MARK: - Bombs

    private static func post(
        compressed body: [UInt8], as encoding: String, by program: String = "curl/8", _ stage: GatewayStage,
        _ token: String
    ) async throws -> HTTPAnswer {
        let connection = try RawConnection(port: stage.port)
        let head = [
            "POST /overland HTTP/1.1", "Host: x", "Connection: close", "User-Agent: \(program)",
            "Authorization: Bearer \(token)", "Content-Encoding: \(encoding)", "Content-Length: \(body.count)",
        ]
        try await connection.sendAll(head.joined(separator: "\r\n") + "\r\n\r\n")
        try await connection.sendAll(body)
        return HTTPAnswer(try await connection.read(within: .seconds(60)))
    }

    /// The highest memory use of a program so far, in kB.
    private static func peak(of program: RunningProgram) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(program.id)/status", encoding: .utf8)
        return try #require(status.firstMatch(of: #/VmHWM:\s+(\d+) kB/#).flatMap { Int($0.1) })
    }

    @Test func compressedBombsAreRefusedInBoundedMemory() async throws {
        let stage = try await GatewayStage()
        let (recorder, gateway) = try await (stage.recorder(), stage.gateway())
        var phone = try await stage.phone("van")
        let token = phone.token
        let zeros = [UInt8](
            try Data(contentsOf: Programs.root.appending(path: "Tests/Fixtures/Clients/zeros.gz")))
        // All members together expand to 2 GB.
        let bomb = [UInt8]((0..<2_000).map { _ in zeros }.joined())
        let before = try Self.peak(of: gateway)
        try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
            for _ in 0..<16 { group.addTask { try await Self.post(compressed: bomb, as: "gzip", stage, token) } }
            for try await answer in group { #expect(answer.status == 413, "\(answer.text)") }
        }
        // Each body has 2 MB and expands to the limit of 8 MB. About 5 MB of memory were measured for each.
        let grown = try Self.peak(of: gateway) - before
        #expect(grown < 16 * 16 * 1024, "\(grown) kB")
        for encoding in ["gzip, gzip", "br", "zstd"] {
            #expect(try await Self.post(compressed: zeros, as: encoding, stage, token).status == 415)
        }
        #expect(try await Self.post(compressed: Array(zeros.dropLast(100)), as: "gzip", stage, token).status == 400)
        // Small, but deeply nested.
        let deep = try await Self.post(
            compressed: Array(String(repeating: "[", count: 1_000_000).utf8), as: "identity", by: "Overland/1.3", stage,
            token)
        #expect(deep.status == 200 && deep.text.contains("\"error\""), "\(deep.text)")
        phone.record(latitude: 52.5, longitude: -8.5, time: 1_700_000_000)
        #expect(await phone.send(1, to: stage.port)?.isTaken == true, "it still takes what is well")
        try await stage.recording.end(gateway, recorder)
    }
}
