import TestSupport
import Testing
import TrackingHTTP
import TrackingMQTT

@Suite(.timeLimit(.minutes(2))) struct HTTPClientTests {
    private typealias Request = HTTPClient.Request

    /// The thread that runs the requests.
    enum Thread: CaseIterable {
        case own, loop

        func client(connectionsPerHost: Int = 8) -> HTTPClient {
            HTTPClient(connectionsPerHost: connectionsPerHost, on: self == .loop ? MQTTEventLoop.shared : nil)
        }
    }

    private func answer(_ status: String, _ headers: String = "", _ body: String = "") -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)"
    }

    private func exchange(
        _ request: Request, on thread: Thread, upTo maximumBytes: Int = 1000, within limit: Duration = .seconds(60)
    ) async throws -> HTTPClient.Answer {
        try await thread.client().exchange(request, within: limit, upTo: maximumBytes)
    }

    @Test(arguments: Thread.allCases) func aRequestArrivesAsItIsAndItsAnswerReturns(thread: Thread) async throws {
        let server = try LineServer(welcome: self.answer("202 Accepted", "Retry-After: 7\r\n", "fine"))
        let request = Request(
            "http://127.0.0.1:\(server.port)/hook?a=b", method: .post, headers: [("X-One", "1"), ("X-Two", "2")],
            body: Array("first\nsecond\n".utf8))
        let answer = try await self.exchange(request, on: thread)
        #expect(answer.status == 202 && answer.body == Array("fine".utf8) && answer.incompleteness == nil)
        #expect(answer.retryAfter == .seconds(7))
        try await server.log.wait("the body") { $0 == .line(1, "second") }
        // The server divides at line feeds alone, which the head of a request does not have.
        let head =
            server.log.elements.lazy.compactMap { if case .line(_, let line) = $0 { line } else { nil } }.first ?? ""
        #expect(head.hasPrefix("POST /hook?a=b HTTP/1.1\r\n") && head.hasSuffix("\r\n\r\nfirst"))
        for line in ["X-One: 1", "X-Two: 2", "Content-Length: 13"] {
            #expect(head.contains("\r\n\(line)\r\n"), "\(head)")
        }
        #expect(!head.contains("Expect"))
    }

    @Test(arguments: Thread.allCases) func eachMethodIsSent(thread: Thread) async throws {
        for (method, name) in [(HTTPClient.Method.get, "GET"), (.delete, "DELETE"), (.post, "POST")] {
            let server = try LineServer(welcome: self.answer("204 No Content"))
            let request = Request("http://127.0.0.1:\(server.port)/", method: method, body: Array("\n".utf8))
            #expect(try await self.exchange(request, on: thread).status == 204)
            try await server.log.wait(name) {
                if case .line(1, let line) = $0 { line.hasPrefix("\(name) / HTTP/1.1\r\n") } else { false }
            }
        }
    }

    /// A webhook's messages must reach the configured server only.
    @Test(arguments: Thread.allCases) func aRedirectIsAnAnswer(thread: Thread) async throws {
        let other = try LineServer(welcome: self.answer("200 OK"))
        let server = try LineServer(
            welcome: self.answer("302 Found", "Location: http://127.0.0.1:\(other.port)/\r\n"))
        #expect(try await self.exchange(Request("http://127.0.0.1:\(server.port)/"), on: thread).status == 302)
        #expect(other.log.elements.isEmpty)
    }

    @Test(arguments: Thread.allCases) func aLongBodyIsCutAtTheLimit(thread: Thread) async throws {
        let server = try LineServer(welcome: self.answer("200 OK", "", String(repeating: "x", count: 1001)))
        let answer = try await self.exchange(Request("http://127.0.0.1:\(server.port)/"), on: thread)
        #expect(answer.status == 200 && answer.body.count == 1000 && answer.incompleteness == .tooLong)
        let whole = try await self.exchange(Request("http://127.0.0.1:\(server.port)/"), on: thread, upTo: 1001)
        #expect(whole.body.count == 1001 && whole.incompleteness == nil)
    }

    @Test(arguments: Thread.allCases) func aBodyThatNeverEndsIsIncomplete(thread: Thread) async throws {
        let server = try LineServer(welcome: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        let answer = try await self.exchange(
            Request("http://127.0.0.1:\(server.port)/"), on: thread, within: .milliseconds(300))
        #expect(answer.status == 200 && answer.body == Array("half".utf8) && answer.incompleteness == .cut)
    }

    @Test(arguments: Thread.allCases) func endlessHeadersAreNoAnswer(thread: Thread) async throws {
        let header = "X-Filler: \(String(repeating: "x", count: 1000))\r\n"
        let server = try LineServer(
            welcome: self.answer("200 OK", String(repeating: header, count: 300), "late"))
        let answer = try await self.exchange(Request("http://127.0.0.1:\(server.port)/"), on: thread)
        #expect(answer.body.isEmpty && answer.incompleteness == .cut)
    }

    @Test(arguments: Thread.allCases) func aServerThatIsAwayOrSilentIsAFailure(thread: Thread) async throws {
        let silent = try LineServer(welcome: "")
        await #expect(throws: HTTPClient.Failure.self) {
            try await self.exchange(Request("http://127.0.0.1:\(silent.port)/"), on: thread, within: .milliseconds(300))
        }
        silent.stop()
        for url in ["http://127.0.0.1:\(silent.port)/", "http://name.invalid/", "file:///etc/passwd", "no address"] {
            await #expect(throws: HTTPClient.Failure.self, "\(url)") {
                try await self.exchange(Request(url), on: thread)
            }
        }
    }

    @Test(arguments: Thread.allCases) func aCancelledRequestEndsAtOnce(thread: Thread) async throws {
        let silent = try LineServer(welcome: "")
        let client = thread.client()
        let waiting = Task {
            try await client.exchange(Request("http://127.0.0.1:\(silent.port)/"), within: .seconds(3600), upTo: 0)
        }
        try await silent.log.wait("the request") { $0 == .connected(1) }
        waiting.cancel()
        await #expect(throws: HTTPClient.Failure.self) { try await waiting.value }
        try await silent.waitUntilDeserted()
        // A task that is cancelled before its request begins ends, too.
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await client.exchange(
                Request("http://127.0.0.1:\(silent.port)/"), within: .seconds(3600), upTo: 0)
        }
        late.cancel()
        await #expect(throws: HTTPClient.Failure.self) { try await late.value }
    }

    @Test(arguments: Thread.allCases) func manyRequestsShareFewConnections(thread: Thread) async throws {
        let server = try LineServer(welcome: nil)
        server.welcome(with: self.answer("200 OK", "Connection: close\r\n", "ok"))
        let client = thread.client(connectionsPerHost: 2)
        let url = "http://127.0.0.1:\(server.port)/"
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 {
                group.addTask { try await client.exchange(Request(url), within: .seconds(60), upTo: 10).status }
            }
            for try await status in group { #expect(status == 200) }
        }
        withExtendedLifetime(server) {}
    }
}
