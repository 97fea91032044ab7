import TestSupport
import Testing
import TrackingHTTP

@Suite(.timeLimit(.minutes(2))) struct HTTPClientTests {
    private typealias Request = HTTPClient.Request

    private func answer(_ status: String, _ headers: String = "", _ body: String = "") -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)"
    }

    private func exchange(
        _ request: Request, upTo maximumBytes: Int = 1000, within limit: Duration = .seconds(60)
    ) async throws -> HTTPClient.Answer {
        try await HTTPClient().exchange(request, within: limit, upTo: maximumBytes)
    }

    @Test func aRequestArrivesAsItIsAndItsAnswerReturns() async throws {
        let server = try LineServer(welcome: self.answer("202 Accepted", "Retry-After: 7\r\n", "fine"))
        let request = Request(
            "http://127.0.0.1:\(server.port)/hook?a=b", method: .post, headers: [("X-One", "1"), ("X-Two", "2")],
            body: Array("first\nsecond\n".utf8))
        let answer = try await self.exchange(request)
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

    @Test func eachMethodIsSent() async throws {
        for (method, name) in [(HTTPClient.Method.get, "GET"), (.delete, "DELETE"), (.post, "POST")] {
            let server = try LineServer(welcome: self.answer("204 No Content"))
            let request = Request("http://127.0.0.1:\(server.port)/", method: method, body: Array("\n".utf8))
            #expect(try await self.exchange(request).status == 204)
            try await server.log.wait(name) {
                if case .line(1, let line) = $0 { line.hasPrefix("\(name) / HTTP/1.1\r\n") } else { false }
            }
        }
    }

    /// A webhook's messages must reach the configured server only.
    @Test func aRedirectIsAnAnswer() async throws {
        let other = try LineServer(welcome: self.answer("200 OK"))
        let server = try LineServer(
            welcome: self.answer("302 Found", "Location: http://127.0.0.1:\(other.port)/\r\n"))
        #expect(try await self.exchange(Request("http://127.0.0.1:\(server.port)/")).status == 302)
        #expect(other.log.elements.isEmpty)
    }

    @Test func aLongBodyIsCutAtTheLimit() async throws {
        let server = try LineServer(welcome: self.answer("200 OK", "", String(repeating: "x", count: 1001)))
        let answer = try await self.exchange(Request("http://127.0.0.1:\(server.port)/"))
        #expect(answer.status == 200 && answer.body.count == 1000 && answer.incompleteness == .tooLong)
        let whole = try await self.exchange(Request("http://127.0.0.1:\(server.port)/"), upTo: 1001)
        #expect(whole.body.count == 1001 && whole.incompleteness == nil)
    }

    @Test func aBodyThatNeverEndsIsIncomplete() async throws {
        let server = try LineServer(welcome: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        let answer = try await self.exchange(Request("http://127.0.0.1:\(server.port)/"), within: .milliseconds(300))
        #expect(answer.status == 200 && answer.body == Array("half".utf8) && answer.incompleteness == .cut)
    }

    @Test func endlessHeadersAreNoAnswer() async throws {
        let header = "X-Filler: \(String(repeating: "x", count: 1000))\r\n"
        let server = try LineServer(
            welcome: self.answer("200 OK", String(repeating: header, count: 300), "late"))
        let answer = try await self.exchange(Request("http://127.0.0.1:\(server.port)/"))
        #expect(answer.body.isEmpty && answer.incompleteness == .cut)
    }

    @Test func aServerThatIsAwayOrSilentIsAFailure() async throws {
        let silent = try LineServer(welcome: "")
        await #expect(throws: HTTPClient.Failure.self) {
            try await self.exchange(Request("http://127.0.0.1:\(silent.port)/"), within: .milliseconds(300))
        }
        silent.stop()
        for url in ["http://127.0.0.1:\(silent.port)/", "http://name.invalid/", "file:///etc/passwd", "no address"] {
            await #expect(throws: HTTPClient.Failure.self, "\(url)") { try await self.exchange(Request(url)) }
        }
    }

    @Test func aCancelledRequestEndsAtOnce() async throws {
        let silent = try LineServer(welcome: "")
        let client = HTTPClient()
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

    @Test func manyRequestsShareFewConnections() async throws {
        let server = try LineServer(welcome: nil)
        server.welcome(with: self.answer("200 OK", "Connection: close\r\n", "ok"))
        let client = HTTPClient(connectionsPerHost: 2)
        let url = "http://127.0.0.1:\(server.port)/"
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 {
                group.addTask { try await client.exchange(Request(url), within: .seconds(60), upTo: 10).status }
            }
            for try await status in group { #expect(status == 200) }
        }
    }
}
