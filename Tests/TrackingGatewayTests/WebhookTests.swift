import AsyncHTTPClient
import Crypto
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import Testing
import TrackingCore

@testable import TrackingGateway

@Suite struct WebhookTests {
    private let folder = TemporaryFolder()
    private let secret = "0123456789abcdef"

    /// A delivery as its receiver saw it.
    private struct Delivery: Sendable {
        var body: String
        var signature: String
    }

    /// Takes deliveries, and answers each with the next status there is; the last one stands.
    private final class Receiver: Sendable {
        private let statuses: Mutex<[HTTPResponse.Status]>
        let deliveries: AsyncStream<Delivery>
        private let tell: AsyncStream<Delivery>.Continuation

        init(_ statuses: [HTTPResponse.Status]) {
            self.statuses = Mutex(statuses)
            (self.deliveries, self.tell) = AsyncStream.makeStream()
        }

        func run(_ port: @escaping @Sendable (Int) async -> Void) async throws {
            let router = Router()
            router.post("hook") { request, _ in
                let body = try await request.body.collect(upTo: 1_000_000)
                self.tell.yield(
                    Delivery(
                        body: String(buffer: body),
                        signature: request.headers[HTTPField.Name("godwit-signature")!] ?? ""))
                return self.statuses.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            }
            let server = Application(
                router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { await port($0.localAddress?.port ?? 0) })
            try await server.run()
        }
    }

    private func withReceiver(
        _ statuses: [HTTPResponse.Status], _ body: (Receiver, Int) async throws -> Void
    ) async throws {
        let receiver = Receiver(statuses)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let serving = Task { try await receiver.run { port.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        try await body(receiver, try #require(await iterator.next()))
        serving.cancel()
        _ = try? await serving.value
    }

    private func add(_ count: Int, to database: GatewayDatabase) async throws {
        let van = try TrackableID("van-7")
        try await database.write { db in
            try Outbox.add(
                (0..<count).map {
                    Outbox.Draft(trackable: van, kind: .event, time: UnixTime(Double($0)), payload: "{\"n\":\($0)}")
                }, to: db)
        }
    }

    @Test func tellsEverythingInOrderThroughFailures() async throws {
        let database = try self.folder.database()
        try await self.withReceiver([.serviceUnavailable, .ok, .found, .ok]) { receiver, port in
            let webhook = try Webhook(url: "http://127.0.0.1:\(port)/hook", secret: self.secret)
            try await Outbox(database).begin(webhook.reader)
            try await self.add(250, to: database)
            let client = HTTPClient(configuration: .webhooks)
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
                let code = HMAC<SHA256>.authenticationCode(
                    for: Array("1700000000.\(delivery.body)".utf8), using: SymmetricKey(data: Array(self.secret.utf8)))
                let hex = code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                #expect(delivery.signature == "t=1700000000,v1=\(hex)")
                if seen.last == 249 { break }
            }
            // The first and the second batch were refused once each, and went again as they were.
            #expect(bodies[0] == bodies[1] && bodies[2] == bodies[3] && bodies.count == 5)
            #expect(seen == Array(0..<100) + Array(0..<200) + Array(100..<250))
            sending.cancel()
            await sending.value
            try await client.shutdown()
        }
    }

    @Test func goesOnWhereItWasAfterARestart() async throws {
        let database = try self.folder.database()
        let webhook = try Webhook(url: "http://127.0.0.1:1/hook", secret: self.secret)
        let outbox = Outbox(database)
        try await outbox.begin(webhook.reader)
        try await self.add(3, to: database)
        let first = try await outbox.next(webhook.reader, kinds: [.event], ownAlone: false, limit: 2)
        try await outbox.told(webhook.reader, through: first.through)
        let reopened = Outbox(try self.folder.database())
        try await reopened.begin(webhook.reader)
        let rest = try await reopened.next(webhook.reader, kinds: [.event], ownAlone: false, limit: 2)
        #expect(rest.entries.map(\.payload) == ["{\"n\":2}"])
        // Who is not told any more keeps nothing back.
        try await reopened.keep(readers: [])
        #expect(try await reopened.trim(now: UnixTime(10)) == 0)
    }

    @Test func showsNothingThatIsSecret() throws {
        let webhook = try Webhook(url: "https://user:pass@example.org/hook/t0ken?key=1", secret: self.secret)
        #expect("\(webhook)" == "https://example.org")
        #expect(throws: TrackingError.self) { try Webhook(url: "ftp://example.org", secret: self.secret) }
        #expect(throws: TrackingError.self) { try Webhook(url: "https://example.org", secret: "short") }
    }
}
