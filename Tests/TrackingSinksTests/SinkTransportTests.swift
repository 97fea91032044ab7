import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization
import TestSupport
import Testing
import TrackingCore
import TrackingCrypto
import TrackingHTTP

@testable import TrackingSinks

/// A transport with libcurl, and a server of the test that answers well or badly.
@Suite(.timeLimit(.minutes(5))) struct SinkTransportTests {
    /// A server that answers requests in turn as the test demands, and then with ok.
    private final class Server: Sendable {
        enum Fate { case ok, huge, error, busy, invalid, redirect, cut, silent }

        private let fates: Mutex<[Fate]>
        let requests = Mutex<[(headers: HTTPFields, body: String)]>([])

        init(_ fates: [Fate]) { self.fates = Mutex(fates) }

        func run(_ port: @escaping @Sendable (Int) -> Void) async throws {
            let router = Router()
            router.post("in") { request, _ in
                let body = String(buffer: try await request.body.collect(upTo: 4_000_000))
                self.requests.withLock { $0.append((request.headers, body)) }
                return try await self.answer()
            }
            let server = Application(
                router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { port($0.localAddress?.port ?? 0) },
                logger: Logger(label: "server") { _ in SwiftLogNoOpLogHandler() })
            try await server.run()
        }

        private func answer() async throws -> Response {
            switch self.fates.withLock({ $0.isEmpty ? .ok : $0.removeFirst() }) {
            case .ok: return Response(status: .ok, body: Self.body(#"{"result":"ok"}"#))
            case .huge: return Response(status: .ok, body: Self.body(String(repeating: "x", count: 1_000_000)))
            case .error: return Response(status: .internalServerError)
            case .busy: return Response(status: .serviceUnavailable, headers: [.retryAfter: "3600"])
            case .invalid: return Response(status: .badRequest)
            case .redirect: return Response(status: .found, headers: [.location: "/other"])
            case .cut:
                return Response(status: .ok, body: ResponseBody { _ in throw CancellationError() })
            case .silent:
                try await Task.sleep(for: .seconds(3600))
                return Response(status: .ok)
            }
        }

        private static func body(_ text: String) -> ResponseBody { ResponseBody(byteBuffer: ByteBuffer(string: text)) }
    }

    private func withServer(
        _ fates: [Server.Fate] = [], _ body: (Server, _ address: String) async throws -> Void
    ) async throws {
        let server = Server(fates)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let serving = Task { try await server.run { port.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        try await body(server, "http://127.0.0.1:\(try #require(await iterator.next()))/in")
        serving.cancel()
        _ = try? await serving.value
    }

    private func batch(_ seqs: ClosedRange<UInt64>) throws -> OutgoingMessage {
        let records = try seqs.map { seq in
            let place = try #require(Coordinate(latitude: 52 + Double(seq) * 1e-5, longitude: -8))
            var point = Location(coordinate: place, time: UnixTime(1_790_000_000 + Double(seq)))
            point.seq = seq
            return SpoolRecord(seq: seq, time: point.time, kind: .point, payload: LocationCodec.encodeFeature(point))
        }
        let batch = HistoryBatch(
            id: "b", stream: try #require(StreamID("s")), oldest: 1, records: SpoolRecords(records))
        return OutgoingMessage(topic: "tracking/van/history", payload: HistoryCodec.encode(batch), isRetained: false)
    }

    /// Runs a transport, publishes a batch, and returns the refusal of each publish: the batch is published until it is
    /// accepted.
    private func publish(
        to address: String, secret: String? = "token", timeout: Duration = SinkTransport.standardTimeout
    ) async throws -> [TrackingError] {
        let transport = try SinkTransport(try ForwardAddress(address), secret: secret, timeout: timeout)
        let message = try self.batch(1...20)
        var refusals: [TrackingError] = []
        async let running: Void = transport.run()
        var token: TransportToken = 0
        for await events in transport.events {
            for event in events {
                switch event {
                case .connected: transport.send([.publish(message, token)])
                case .published(_, nil): transport.send([.close(within: .seconds(10))])
                case .published(_, let refusal?):
                    refusals.append(refusal)
                    token += 1
                    transport.send([.publish(message, token)])
                case .disconnected(let end): #expect(end.reason == nil && end.retry == nil)
                case .received, .subscribed: Issue.record("\(event)")
                }
            }
        }
        await running
        return refusals
    }

    @Test func everyFailureIsARefusalUntilTheServerAcknowledges() async throws {
        try await self.withServer([.error, .huge, .cut, .redirect, .invalid, .silent]) { server, url in
            let refusals = try await self.publish(to: "overland+\(url)", timeout: .seconds(2))
            #expect(refusals.count == 6, "\(refusals)")
            #expect(refusals.map(\.isContentRefusal) == [false, false, false, false, true, false])
            let requests = server.requests.withLock { $0 }
            #expect(requests.count == 7 && Set(requests.map(\.body)).count == 1, "a request is repeated unchanged")
            #expect(requests.allSatisfy { $0.headers[.authorization] == "Bearer token" })
            let locations = try JSONValue(json: Array(requests[0].body.utf8))["locations"]?.list
            #expect(locations?.count == 20 && locations?[0]["properties"]?["device_id"] == .text("van"))
        }
    }

    @Test func aWebhookIsSigned() async throws {
        let secret = "0123456789abcdef"
        try await self.withServer { server, url in
            #expect(try await self.publish(to: "webhook+\(url)", secret: secret) == [])
            let request = try #require(server.requests.withLock { $0.first })
            #expect(request.headers[.contentType] == "application/cloudevents-batch+json")
            let signature = request.headers[try #require(HTTPField.Name("godwit-signature"))] ?? ""
            let time = try #require(signature.split(separator: ",").first?.dropFirst(2))
            let code = SHA256.authenticationCode(for: Array("\(time).\(request.body)".utf8), key: Array(secret.utf8))
            #expect(signature == "t=\(time),v1=\(code.hexText)")
            #expect(try JSONValue(json: Array(request.body.utf8)).list?.first?["id"] == .text("s/1"))
        }
    }

    @Test func aServerThatIsAwayIsAReason() async throws {
        let port = try LoopbackPort.free()
        let batch = ForwardBatch(trackable: try TrackableID("van"), points: [])
        let address = try ForwardAddress("overland+http://127.0.0.1:\(port)/in")
        let answer = await ForwardRequest(batch, to: address, secret: nil, at: UnixTime(0))
            .send(to: address, over: HTTPClient(), within: .seconds(5))
        #expect(answer.verdict == .failed && answer.reason.contains("127.0.0.1"))
    }

    /// A publisher that leaves does not wait for a server that does not answer.
    @Test func aCloseEndsTheRequest() async throws {
        try await self.withServer([.silent]) { server, url in
            let transport = try SinkTransport(try ForwardAddress("overland+\(url)"), secret: nil)
            async let running: Void = transport.run()
            transport.send([.publish(try self.batch(1...1), 1), .close(within: .milliseconds(100))])
            await running
            var last: [TransportEvent] = []
            for await events in transport.events { last += events }
            #expect(last.count == 2, "\(last)")
            guard case .disconnected = last.last else {
                Issue.record("\(last)")
                return
            }
        }
    }

    /// A wait that the server requests does not delay the answer to the publisher.
    @Test func aRequestedWaitIsReportedAtOnce() async throws {
        try await self.withServer([.busy]) { server, url in
            let transport = try SinkTransport(try ForwardAddress("overland+\(url)"), secret: nil)
            async let running: Void = transport.run()
            let message = try self.batch(1...1)
            transport.send([.publish(message, 1), .publish(message, 2)])
            var refused: [TransportToken] = []
            for await events in transport.events {
                for case .published(let token, _?) in events {
                    refused.append(token)
                    if token == 2 { transport.send([.publish(message, 3)]) }
                    if token == 3 { transport.send([.close(within: .seconds(10))]) }
                }
            }
            await running
            #expect(refused == [1, 2, 3])
            #expect(server.requests.withLock { $0.count } == 1)
            #expect(transport.failure?.contains("503") == true)
        }
    }

    @Test func aBrokerAndAShortSecretAreRejected() throws {
        for (address, secret) in [("mqtt://127.0.0.1", nil), ("webhook+https://a/b", "short")] {
            let error = #expect(throws: TrackingError.self) {
                _ = try SinkTransport(try ForwardAddress(address), secret: secret)
            }
            #expect(error?.code == .invalidConfiguration)
        }
    }
}
