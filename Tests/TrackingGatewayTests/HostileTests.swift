import Foundation
import NIOCore
import Synchronization
import TestSupport
import Testing
import TrackingCore
import TrackingStore

@testable import TrackingGateway

/// Clients that send too much, too slowly, or invalid data, over real sockets.
@Suite(.serialized, .timeLimit(.minutes(5))) struct HostileTests {
    /// Runs a gateway, and checks after `body` that it still answers.
    private func serve(
        history: (any HistoryStore)? = nil, _ change: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (Int, TestGateway) async throws -> Void
    ) async throws {
        let (ports, reported) = AsyncStream.makeStream(of: Int.self)
        let stage = try TestGateway {
            $0.patience = .seconds(1)
            $0.listening = { reported.yield($0) }
            change(&$0)
        }
        let gateway = try Gateway(configuration: stage.configuration, history: history)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try? await gateway.run() }
            var iterator = ports.makeAsyncIterator()
            let port = try #require(await iterator.next())
            try await body(port, stage)
            try await Self.isServing(port)
            group.cancelAll()
        }
    }

    /// Waits until the gateway answers. With such a short time limit, a delayed request is cut off as well.
    private static func isServing(_ port: Int) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while (try? await HTTPAnswer.of("/healthz", port: port).status) != 200 {
            try #require(ContinuousClock.now < deadline)
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    @Test func aHeaderThatTricklesInIsCutOff() async throws {
        try await self.serve { port, _ in
            let connection = try RawConnection(port: port)
            let start = ContinuousClock.now
            try await connection.sendAll("GET /healthz HTTP/1.1\r\nHost: x\r\nX: ")
            while connection.send([0x61]) != nil, start.duration(to: .now) < .seconds(90) {
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(start.duration(to: .now) < .seconds(60))
        }
    }

    @Test func aBodyThatTricklesInIsCutOff() async throws {
        try await self.serve { port, stage in
            let token = try await stage.token()
            let connection = try RawConnection(port: port)
            let start = ContinuousClock.now
            try await connection.sendAll(
                "POST /session HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\nContent-Length: 4000\r\n\r\n")
            while connection.send([0x20]) != nil, start.duration(to: .now) < .seconds(90) {
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(start.duration(to: .now) < .seconds(60))
        }
    }

    @Test func anEndlessBodyIsCutOffAlsoIfItIsNotRead() async throws {
        try await self.serve { port, _ in
            let connection = try RawConnection(port: port)
            let start = ContinuousClock.now
            try await connection.sendAll("POST /none HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "1000\r\n" + String(repeating: "x", count: 4096) + "\r\n"
            while connection.send(chunk.utf8) != nil, start.duration(to: .now) < .seconds(90) {
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(start.duration(to: .now) < .seconds(60))
        }
    }

    /// A chunked body that is too long gets the same error as a body with a declared length.
    @Test func aBodyWithoutALengthThatIsTooLongIsRefused() async throws {
        try await self.serve { port, stage in
            let connection = try RawConnection(port: port)
            try await connection.sendAll(
                "POST /session HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1001\r\n"
                    + String(repeating: " ", count: 4097) + "\r\n0\r\n\r\n")
            let answer = HTTPAnswer(try await connection.read { $0.last == UInt8(ascii: "}") })
            #expect(answer.status == 413 && answer.text.contains("4096 bytes"), "\(answer)")
        }
    }

    /// An allowed request gets 100 Continue, and another request gets its final answer at once.
    @Test func aClientThatExpectsContinueGetsItIfAllowed() async throws {
        try await self.serve({ $0.patience = .seconds(60) }) { port, stage in
            let body = #"{"token":"\#(try await stage.token())"}"#
            func begin(_ headers: String) async throws -> (RawConnection, [UInt8]) {
                let connection = try RawConnection(port: port)
                try await connection.sendAll(
                    "POST /session HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\(headers)"
                        + "Expect: 100-continue\r\n\r\n")
                let answer = try await connection.read {
                    $0.suffix(4).elementsEqual("\r\n\r\n".utf8) || $0.last == UInt8(ascii: "}")
                }
                return (connection, answer)
            }
            let (connection, reported) = try await begin("")
            #expect(String(decoding: reported, as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
            try await connection.sendAll(body)
            let answer = HTTPAnswer(try await connection.read { $0.last == UInt8(ascii: "}") })
            #expect(answer.status == 200 && answer.text.contains("desk"), "\(answer)")
            let (_, refused) = try await begin("Authorization: Bearer gw_wrong\r\n")
            #expect(HTTPAnswer(refused).status == 401)
        }
    }

    /// HTTP/1.0 has no chunks: an answer without a length ends with its connection.
    @Test func anHTTP10RequestGetsAnHTTP10Answer() async throws {
        let stage = try await RecordedGateway(["van": 5000])
        try await self.serve(history: stage.history, { $0.patience = .seconds(60) }) { port, gateway in
            let token = try await gateway.token()
            func ask(_ request: String) async throws -> String {
                let connection = try RawConnection(port: port)
                try await connection.sendAll("GET \(request)\r\nAuthorization: Bearer \(token)\r\n\r\n")
                return String(decoding: try await connection.read(), as: UTF8.self)
            }
            let path = "/api/v1/trackables/van/history?format=csv"
            let whole = try await HTTPAnswer.of(path, port: port, headers: ["Authorization: Bearer \(token)"])
            for header in ["", "\r\nConnection: keep-alive"] {
                let answer = try await ask("\(path) HTTP/1.0\(header)")
                #expect(answer.hasPrefix("HTTP/1.0 200 "), "\(answer.prefix(100))")
                let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1)
                #expect(parts.count == 2 && !parts[0].lowercased().contains("transfer-encoding"))
                #expect(parts.last.map { $0 == whole.text } == true, "\(answer.prefix(1000))")
            }
            #expect(try await ask("/healthz HTTP/1.1\r\nHost: x\r\nConnection: Close").hasSuffix("ok\n"))
        }
        withExtendedLifetime(stage) {}
    }

    /// A following request on the same connection is not answered.
    @Test(arguments: ["", "Host: a\r\nHost: b\r\n", "Host: a\r\nhOST: a\r\n", "Host: a b\r\n"])
    func aRequestWithoutOneHostIsRefused(_ fields: String) async throws {
        try await self.serve({ $0.patience = .seconds(60) }) { port, _ in
            let connection = try RawConnection(port: port)
            try await connection.sendAll(
                "GET /healthz HTTP/1.1\r\n\(fields)\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            let answer = String(decoding: try await connection.read(), as: UTF8.self)
            #expect(
                answer.hasPrefix("HTTP/1.1 400 ") && answer.components(separatedBy: "HTTP/1.1").count == 2, "\(answer)")
        }
    }

    /// The answer to the preceding request is complete.
    @Test func aRequestWithoutAHostDoesNotDisturbTheOneBefore() async throws {
        try await self.serve({ $0.patience = .seconds(60) }) { port, _ in
            let connection = try RawConnection(port: port)
            try await connection.sendAll("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n")
            let answer = String(decoding: try await connection.read(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("ok\nHTTP/1.1 400 "), "\(answer)")
        }
    }

    @Test func aPeerThatReadsNoAnswerIsCutOff() async throws {
        let stage = try await RecordedGateway(["van": 100_000])
        try await self.serve(history: stage.history) { port, gateway in
            let token = try await gateway.token()
            let connection = try RawConnection(port: port)
            try await connection.sendAll(
                "GET /api/v1/trackables/van/history HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n")
            // The answer has 20 MB: the sockets' buffers accept a part of it, and then the transfer stops.
            let deadline = ContinuousClock.now + .seconds(60)
            while connection.isOpenAtPeer {
                try #require(ContinuousClock.now < deadline, "it is not cut off")
                try await Task.sleep(for: .milliseconds(50))
            }
            let got = try await connection.read(within: .seconds(60))
            #expect(got.count < 15_000_000)
            let whole = try await HTTPAnswer.of(
                "/api/v1/trackables/van/history", port: port, headers: ["Authorization: Bearer \(token)"],
                within: .seconds(60))
            #expect(whole.status == 200 && whole.text.hasSuffix("]}\n"))
        }
        withExtendedLifetime(stage) {}
    }

    /// The answer has 20 MB, more than the sockets' buffers. The rest is not sent after the token is revoked.
    @Test func aDownloadEndsWithItsToken() async throws {
        let stage = try await RecordedGateway(["van": 100_000])
        try await self.serve(history: stage.history, { $0.patience = .seconds(60) }) { port, gateway in
            let token = try await gateway.token()
            let connection = try RawConnection(port: port)
            try await connection.sendAll(
                "GET /api/v1/trackables/van/history HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n")
            let begin = try await connection.read { !$0.isEmpty }
            #expect(try await gateway.access.revokeToken("desk", now: TestGateway.now))
            let rest = try await connection.read()
            #expect(HTTPAnswer(begin + rest).status == 200)
            #expect(!rest.suffix(5).elementsEqual("0\r\n\r\n".utf8), "the answer has no end")
        }
        withExtendedLifetime(stage) {}
    }

    @Test(arguments: ["history", "trips"]) func aDownloadEndsOnceItsTokenIsRevoked(_ what: String) async throws {
        let stage = try await RecordedGateway(["van": 8000])
        let gateways = Mutex<TestGateway?>(nil)
        let history = InterruptedHistory(history: stage.history) {
            let gateway = gateways.withLock { $0 }
            _ = try? await gateway?.access.revokeToken("desk", now: TestGateway.now)
        }
        try await self.serve(history: history, { $0.patience = .seconds(60) }) { port, gateway in
            func ask(_ token: String) async throws -> HTTPAnswer {
                try await HTTPAnswer.of(
                    "/api/v1/trackables/van/\(what)", port: port, headers: ["Authorization: Bearer \(token)"])
            }
            let whole = try await ask(try await gateway.token("other"))
            #expect(whole.status == 200 && whole.text.hasSuffix("]}\n"), "\(whole.text.suffix(80))")
            gateways.withLock { $0 = gateway }
            let answer = try await ask(try await gateway.token())
            #expect(answer.status == 200 && !answer.text.hasSuffix("]}\n"), "\(answer.text.suffix(80))")
        }
        withExtendedLifetime(stage) {}
    }

    @Test func headersThatAreTooLongAreRefused() async throws {
        try await self.serve { port, _ in
            for header in [
                "X: " + String(repeating: "a", count: 100_000), String(repeating: "X: a\r\n", count: 10_000) + "Y: b",
            ] {
                let connection = try RawConnection(port: port)
                try? await connection.sendAll("GET /healthz HTTP/1.1\r\nHost: x\r\n\(header)\r\n\r\n")
                let answer = HTTPAnswer(try await connection.read(within: .seconds(60)))
                #expect([0, 400, 431].contains(answer.status))
            }
        }
    }

    @Test func nonsenseEndsInAnAnswerOrAClosedConnection() async throws {
        try await self.serve { port, stage in
            let token = try await stage.token()
            var requests = [
                "\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "POST /session HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
                "POST /session HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
                "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            ]
            for path in [
                "*", "http://other/healthz", "/?token=%", "/?%=%&&==", "/session?token=\(token)%0d%0aX:y",
                "/api/v1/trackables/%F0%9F%9A%90%ED%A0%80/position", "/%", "//../..", "/api/v1/positions?bbox=%00",
                "/api/v1/positions?bbox=nan,nan,nan,nan", "/api/v1/positions?trackables=%25",
            ] {
                requests.append("GET \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n")
            }
            for request in requests {
                let connection = try RawConnection(port: port)
                try await connection.sendAll(request)
                let answer = HTTPAnswer(
                    try await connection.read(within: .seconds(60)) { $0.contains(0x0A) })
                #expect(answer.status < 500, "\(request.debugDescription): \(answer.status)")
            }
        }
    }

    @Test func manyIdleConnectionsDisturbNoRequest() async throws {
        try await self.serve { port, _ in
            let idle = try (0..<400).map { _ in try RawConnection(port: port) }
            try await Self.isServing(port)
            for connection in idle { #expect(try await connection.read(within: .seconds(60)).isEmpty) }
        }
    }

    @Test func aSlowBodyIsAccepted() async throws {
        try await self.serve({ $0.patience = .seconds(4) }) { port, stage in
            let body = #"{"token":"\#(try await stage.token())"}"#
            let padding = String(repeating: " ", count: 4000 - body.utf8.count)
            let connection = try RawConnection(port: port)
            try await connection.sendAll("POST /session HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n\(padding)")
            // The transfer takes at least 4 s. Every request gets four, and nearly four more for the received data.
            var rest = Array(body.utf8)[...]
            for _ in 0..<9 {
                try await Task.sleep(for: .milliseconds(500))
                try await connection.sendAll(Array(rest.prefix(1)))
                rest = rest.dropFirst()
            }
            try await connection.sendAll(Array(rest))
            let answer = HTTPAnswer(try await connection.read(within: .seconds(60)) { $0.contains(0x7D) })
            #expect(answer.status == 200)
        }
    }

    @Test func anActiveTransferGetsMoreTimeWithALimit() {
        var pace = RequestPace(limit: .seconds(30), begun: NIODeadline.uptimeNanoseconds(0))
        func seconds() -> UInt64 { pace.deadline.uptimeNanoseconds / 1_000_000_000 }
        #expect(seconds() == 30)
        pace.bytes = 100 * 1024
        #expect(seconds() == 130)
        pace.bytes = 8_388_608
        #expect(seconds() == 300)
    }
}
