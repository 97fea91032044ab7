import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import Testing
import TrackingCore
import TrackingCrypto
import TrackingHTTP
import TrackingMetrics
import TrackingStore

@testable import TrackingGateway
@testable import TrackingRules

@Suite(.timeLimit(.minutes(5))) struct WebhookTests {
    private let folder = TemporaryFolder()
    private let secret = "0123456789abcdef"

    /// A delivery as the receiver got it.
    private struct Delivery: Sendable {
        var body: String
        var signature: String
    }

    /// A receiver that records deliveries, and answers with the given statuses.
    private final class Receiver: Sendable {
        private let answer: @Sendable (String) -> HTTPResponse.Status
        let deliveries: AsyncStream<Delivery>
        private let continuation: AsyncStream<Delivery>.Continuation

        init(_ answer: @escaping @Sendable (String) -> HTTPResponse.Status) {
            self.answer = answer
            (self.deliveries, self.continuation) = AsyncStream.makeStream()
        }

        func run(_ port: @escaping @Sendable (Int) async -> Void) async throws {
            let router = Router()
            router.post("hook") { request, _ in
                let body = try await request.body.collect(upTo: 1_000_000)
                self.continuation.yield(
                    Delivery(
                        body: String(buffer: body),
                        signature: request.headers[HTTPField.Name("godwit-signature")!] ?? ""))
                return self.answer(String(buffer: body))
            }
            let server = Application(
                router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { await port($0.localAddress?.port ?? 0) })
            try await server.run()
        }
    }

    /// - Parameter statuses: The statuses of the answers in order; the last one repeats.
    private func withReceiver(
        _ statuses: [HTTPResponse.Status], _ body: (Receiver, Int) async throws -> Void
    ) async throws {
        let left = Mutex(statuses)
        try await self.withReceiver(
            answering: { _ in left.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] } }, body)
    }

    private func withReceiver(
        answering answer: @escaping @Sendable (String) -> HTTPResponse.Status,
        _ body: (Receiver, Int) async throws -> Void
    ) async throws {
        let receiver = Receiver(answer)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let serving = Task { try await receiver.run { port.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        try await body(receiver, try #require(await iterator.next()))
        serving.cancel()
        _ = try? await serving.value
    }

    private func add(_ count: Int, of bytes: Int = 0, to database: GatewayDatabase) async throws {
        let van = try TrackableID("van-7")
        let rest = bytes == 0 ? "" : ",\"rest\":\"\(String(repeating: "x", count: bytes))\""
        try await database.write { db in
            try Outbox.add(
                (0..<count).map {
                    Outbox.Draft(
                        trackable: van, kind: .event, time: UnixTime(Double($0)), payload: "{\"n\":\($0)\(rest)}")
                }, to: db)
        }
    }

    /// The file is restored to an earlier state: later messages have different ids.
    @Test func idsAreGivenOnce() async throws {
        let other = TemporaryFolder()
        let (file, earlier) = (try self.folder.database(), try other.database())
        var ids: [Int64] = []
        for (database, second) in [(file, 0.0), (file, 0), (earlier, 1)] {
            let outbox = Outbox(database)
            try await outbox.beginRange(now: UnixTime(1_700_000_000 + second))
            try await outbox.begin("hook")
            try await self.add(3, to: database)
            let entries = try await outbox.next("hook", kinds: [.event], ownAlone: false, limit: 100).entries.suffix(3)
            ids += entries.map(\.id)
            #expect(try await outbox.backlog("hook") == (second == 1 ? 3 : Int64(ids.count)))
            let id = try #require(entries.last?.id)
            #expect(String(decoding: Webhook.body(entries).bytes, as: UTF8.self).contains("\"id\":\(id),"))
        }
        #expect(
            ids == Array(1_700_000_000_000_001...1_700_000_000_000_006)
                + Array(1_700_000_001_000_001...1_700_000_001_000_003))
    }

    @Test func deliversEverythingInOrderThroughFailures() async throws {
        let database = try self.folder.database()
        try await self.withReceiver([.serviceUnavailable, .ok, .found, .ok]) { receiver, port in
            let webhook = try Webhook(url: "http://127.0.0.1:\(port)/hook", secret: self.secret)
            try await Outbox(database).begin(webhook.reader)
            try await self.add(250, to: database)
            let client = HTTPClient()
            let sender = WebhookSender(webhook, kinds: [.event], outbox: Outbox(database), client: client) {
                UnixTime(1_700_000_000)
            }
            let sending = Task { await sender.run() }
            var seen: [Int] = []
            var bodies: [String] = []
            for await delivery in receiver.deliveries {
                let json = try JSONValue(json: delivery.body.utf8)
                seen += (json["messages"]?.list ?? []).compactMap { $0["payload"]?["n"]?.count }
                bodies.append(delivery.body)
                let code = SHA256.authenticationCode(
                    for: Array("1700000000.\(delivery.body)".utf8), key: Array(self.secret.utf8))
                let hex = code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                #expect(delivery.signature == "t=1700000000,v1=\(hex)")
                if seen.last == 249 { break }
            }
            // The first and the second batch were rejected once each, and repeated unchanged.
            #expect(bodies[0] == bodies[1] && bodies[2] == bodies[3] && bodies.count == 5)
            #expect(seen == Array(0..<100) + Array(0..<200) + Array(100..<250))
            sending.cancel()
            await sending.value
        }
    }

    @Test func anEventOfLongAgoIsMarked() throws {
        let event = TrackingEvent(
            id: "e1", stream: try #require(StreamID("one")), seq: 1, time: UnixTime(1000), kind: .lowBattery)
        func text(_ kind: Outbox.Kind, received: Double) throws -> String {
            let entry = Outbox.Entry(
                place: 1, id: 1, trackable: try TrackableID("van"), kind: kind, isOwn: false, time: UnixTime(received),
                payload: String(decoding: MessageCodec.encode(event), as: UTF8.self))
            return String(decoding: Webhook.body([entry]).bytes, as: UTF8.self)
        }
        #expect(try text(.event, received: 1121).contains(#""kind":"event","late":true,"#))
        #expect(try !text(.event, received: 1120).contains("late"))
        #expect(try !text(.trip, received: 1121).contains("late"))
    }

    /// The sender does not wait for the body of an answer, however slow it is.
    @Test func anEndlessAnswerDelaysNothing() async throws {
        let router = Router()
        let delivered = Mutex(0)
        router.post("hook") { request, _ in
            _ = try await request.body.collect(upTo: 1_000_000)
            delivered.withLock { $0 += 1 }
            return Response(
                status: .ok,
                body: ResponseBody { writer in
                    while true {
                        try await writer.write(ByteBuffer(string: " "))
                        try await Task.sleep(for: .milliseconds(100))
                    }
                })
        }
        try await self.whileSending(101, to: router, patience: .milliseconds(500)) {
            while delivered.withLock({ $0 }) < 2 { try await Task.sleep(for: .milliseconds(20)) }
        }
    }

    @Test func aReceiverThatRequestsAPauseGetsIt() async throws {
        let (times, delivered) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
        let router = Router()
        router.post("hook") { request, _ in
            _ = try await request.body.collect(upTo: 1_000_000)
            delivered.yield(.now)
            return Response(status: .tooManyRequests, headers: [.retryAfter: "4"])
        }
        try await self.whileSending(1, to: router, patience: .seconds(30)) {
            var tries = times.makeAsyncIterator()
            let (first, second) = (try #require(await tries.next()), try #require(await tries.next()))
            #expect(second - first >= .seconds(4))
        }
    }

    /// Sends a number of events to a receiver with the routes of `router`, during `body`.
    private func whileSending(
        _ count: Int, to router: Router<BasicRequestContext>, patience: Duration, _ body: () async throws -> Void
    ) async throws {
        let database = try self.folder.database()
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let server = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) })
        let serving = Task { try await server.run() }
        var iterator = ports.makeAsyncIterator()
        let webhook = try Webhook(
            url: "http://127.0.0.1:\(try #require(await iterator.next()))/hook", secret: self.secret)
        try await Outbox(database).begin(webhook.reader)
        try await self.add(count, to: database)
        let client = HTTPClient()
        let sender = WebhookSender(
            webhook, kinds: [.event], outbox: Outbox(database), client: client, timeout: patience
        ) { UnixTime(1_700_000_000) }
        let sending = Task { await sender.run() }
        try await body()
        sending.cancel()
        await sending.value
        serving.cancel()
        _ = try? await serving.value
    }

    private static func numbers(_ body: String) -> [Int] {
        body.matches(of: #/"payload":\{"n":(\d+)/#).compactMap { Int($0.1) }
    }

    /// A single rejected message is skipped, and all others are sent in order.
    @Test func aRejectedMessageDelaysNoOther() async throws {
        let database = try self.folder.database()
        let answer: @Sendable (String) -> HTTPResponse.Status = { body in
            if body.utf8.count > 400_000 { return .contentTooLarge }
            return Self.numbers(body).contains(37) ? .unprocessableContent : .ok
        }
        try await self.withReceiver(answering: answer) { receiver, port in
            let webhook = try Webhook(url: "http://127.0.0.1:\(port)/hook", secret: self.secret)
            try await Outbox(database).begin(webhook.reader)
            try await self.add(120, of: 10_000, to: database)
            let client = HTTPClient()
            let metrics = PrometheusRegistry()
            let sender = WebhookSender(
                webhook, kinds: [.event], outbox: Outbox(database), client: client,
                figures: GatewayFigures(metrics).webhook(webhook, 0)
            ) { UnixTime(1_700_000_000) }
            let sending = Task { await sender.run() }
            var taken: [Int] = []
            for await delivery in receiver.deliveries {
                #expect(delivery.body.utf8.count <= Webhook.maximumBytes)
                if answer(delivery.body) == .ok { taken += Self.numbers(delivery.body) }
                if taken.last == 119 { break }
            }
            #expect(taken == Array(0..<37) + Array(38..<120))
            sending.cancel()
            await sending.value
            let labels = #"{host="\#(webhook)",webhook="1"}"#
            #expect(metrics.text().contains("godwit_gateway_webhook_refused_total\(labels) 1\n"), "\(metrics.text())")
        }
    }

    @Test func aDeliveryIsHalvedDownToWhatIsRefused() {
        var size = DeliverySize()
        #expect(size.limit == 100)
        #expect(size.answered(413, count: 5) == .halved && size.limit == 2)
        #expect(size.answered(503, count: 2) == .repeat && size.failures == 1)
        #expect(size.answered(nil, count: 2) == .repeat && size.failures == 2)
        #expect(size.answered(400, count: 2) == .halved && size.limit == 1)
        #expect(size.answered(422, count: 1) == .quarantined && size.failures == 3)
        // If every message is rejected, the backoff grows.
        #expect(size.answered(422, count: 1) == .quarantined && size.failures == 4)
        #expect(size.answered(204, count: 1) == .accepted && size.failures == 0 && size.limit == 2)
        for _ in 0..<10 { _ = size.answered(200, count: 2) }
        #expect(size.limit == 100)
    }

    @Test func goesOnWhereItWasAfterARestart() async throws {
        let database = try self.folder.database()
        let webhook = try Webhook(url: "http://127.0.0.1:1/hook", secret: self.secret)
        let outbox = Outbox(database)
        try await outbox.begin(webhook.reader)
        try await self.add(3, to: database)
        let first = try await outbox.next(webhook.reader, kinds: [.event], ownAlone: false, limit: 2)
        try await outbox.advance(webhook.reader, to: first.through)
        let reopened = Outbox(try self.folder.database())
        try await reopened.begin(webhook.reader)
        let rest = try await reopened.next(webhook.reader, kinds: [.event], ownAlone: false, limit: 2)
        #expect(rest.entries.map(\.payload) == ["{\"n\":2}"])
        // A removed reader does not keep messages pending.
        try await reopened.removeReaders(except: [])
        #expect(try await reopened.trim(now: UnixTime(10)) == 0)
    }

    @Test func pendingMessagesAreLimitedInBytesAndTheOldestAreDropped() async throws {
        let database = try self.folder.database()
        let outbox = Outbox(database)
        try await outbox.begin("hook")
        try await self.add(10, of: 10_000, to: database)
        func trim(_ bytes: Int64) async throws -> Int {
            try await database.write { try Outbox.trim(toBytes: bytes, in: $0) }
        }
        #expect(try await trim(200_000) == 0)
        // 10 messages of about 10,270 bytes each.
        #expect(try await trim(50_000) == 6)
        let left = try await outbox.next("hook", kinds: [.event], ownAlone: false, limit: 100).entries
        #expect(left.map(\.time.seconds) == [6, 7, 8, 9])
        // Messages that were already read do not count as lost.
        try await outbox.advance("hook", to: left[1].place)
        #expect(try await trim(25_000) == 0)
        #expect(try await outbox.next("hook", kinds: [.event], ownAlone: false, limit: 100).entries.count == 2)
        try await database.write { try Outbox.remove(try TrackableID("van-7"), from: $0) }
        #expect(try await database.read { try Int64.fetchOne($0, sql: "SELECT bytes FROM outboxSize") } == 0)
    }

    @Test func showsNothingThatIsSecret() throws {
        let webhook = try Webhook(url: "https://user:pass@example.org/hook/t0ken?key=1", secret: self.secret)
        #expect("\(webhook)" == "https://example.org")
        for url in ["https://example.org?key=1", "https://example.org#key", "https://key@example.org?a=@b"] {
            #expect("\(try Webhook(url: url, secret: self.secret))" == "https://example.org", "\(url)")
        }
        for url in ["ftp://example.org", "https://", "http:///hook", "https://example.org/a b", "https://?a"] {
            #expect(throws: TrackingError.self, "\(url)") { try Webhook(url: url, secret: self.secret) }
        }
        #expect(throws: TrackingError.self) { try Webhook(url: "https://example.org", secret: "short") }
    }
}
