import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization
import Testing
import TrackingCore
import TrackingCrypto
import TrackingSinks
import TrackingStore

@testable import TrackingForwarding

/// Forwarders with a real history, and servers of the test that answer well or badly.
@Suite(.timeLimit(.minutes(5))) struct ForwarderTests {
    /// A server that stores each point of Overland once.
    private final class Server: Sendable {
        /// The behaviour of the server towards one request.
        enum Fate: CaseIterable {
            case ok, error, wrongBody, slow, cut, busy, storedAndCut, storedAndError, invalid
            var stores: Bool { self == .ok || self == .storedAndCut || self == .storedAndError }
        }

        private let fates: Mutex<[Fate]>
        /// The texts in a request by which the server rejects it.
        private let rejected: Set<String>
        let stored = Mutex<[String: Int]>([:])
        let requests = Mutex<[(headers: HTTPFields, body: String)]>([])

        /// - Parameters:
        ///   - fates: The fates of the first requests. Later requests are answered ok.
        ///   - rejected: The numbers of the points that the server rejects because of their content.
        init(_ fates: [Fate], rejecting rejected: Set<UInt64> = []) {
            self.fates = Mutex(fates)
            self.rejected = Set(rejected.map { "\"timestamp\":\"\(ForwarderTests.time(of: $0))\"" })
        }

        var left: Int { self.fates.withLock { $0.count } }

        func run(_ port: @escaping @Sendable (Int) -> Void) async throws {
            let router = Router()
            router.post("in") { request, _ in
                let body = String(buffer: try await request.body.collect(upTo: 4_000_000))
                self.requests.withLock { $0.append((request.headers, body)) }
                return try await self.answer(body)
            }
            let server = Application(
                router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { port($0.localAddress?.port ?? 0) },
                logger: Logger(label: "server") { _ in SwiftLogNoOpLogHandler() })
            try await server.run()
        }

        private func answer(_ body: String) async throws -> Response {
            guard !self.rejected.contains(where: { body.contains($0) }) else {
                return Response(status: .unprocessableContent)
            }
            let fate = self.fates.withLock { $0.isEmpty ? .ok : $0.removeFirst() }
            if fate.stores { self.store(body) }
            switch fate {
            case .ok: return Response(status: .ok, body: Self.body(#"{"result":"ok"}"#))
            case .error, .storedAndError: return Response(status: .internalServerError)
            case .wrongBody: return Response(status: .ok, body: Self.body("<html>"))
            case .invalid: return Response(status: .unprocessableContent)
            case .busy: return Response(status: .serviceUnavailable, headers: [.retryAfter: "1"])
            case .slow:
                try await Task.sleep(for: .seconds(3600))
                return Response(status: .ok)
            case .cut, .storedAndCut:
                return Response(
                    status: .ok,
                    body: ResponseBody { writer in
                        try await writer.write(ByteBuffer(string: #"{"result""#))
                        throw CancellationError()
                    })
            }
        }

        private func store(_ body: String) {
            let features = (try? JSONValue(json: Array(body.utf8), maximumBytes: 4_000_000))?["locations"]?.list ?? []
            self.stored.withLock { stored in
                for feature in features {
                    let properties = feature["properties"]
                    let key = "\(properties?["device_id"]?.text ?? "") \(properties?["timestamp"]?.text ?? "")"
                    stored[key, default: 0] += 1
                }
            }
        }

        private static func body(_ text: String) -> ResponseBody { ResponseBody(byteBuffer: ByteBuffer(string: text)) }
    }

    private func withServer(
        _ fates: [Server.Fate] = [], rejecting rejected: Set<UInt64> = [],
        _ body: (Server, Int) async throws -> Void
    ) async throws {
        let server = Server(fates, rejecting: rejected)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let serving = Task { try await server.run { port.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        try await body(server, try #require(await iterator.next()))
        serving.cancel()
        _ = try? await serving.value
    }

    /// Waits until a condition is true, at most 60 s.
    private func wait(until isSo: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while try await !isSo() {
            try #require(ContinuousClock.now < deadline, "not seen in time")
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func withStore(_ body: (SQLiteHistoryStore) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-forward-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLiteHistoryStore(path: folder.appending(path: "history.sqlite").path())
        try await body(store)
        try await store.close()
    }

    private func store(_ seqs: ClosedRange<UInt64>, of name: String, in store: SQLiteHistoryStore) async throws {
        var recording = Recording(of: try TrackableID(name), at: UnixTime(1_790_000_000))
        recording.points = try seqs.map { seq in
            let place = try #require(Coordinate(latitude: 52 + Double(seq) * 1e-5, longitude: -8))
            var point = Location(coordinate: place, time: UnixTime(1_780_000_000 + Double(seq)))
            (point.stream, point.seq) = (StreamID("s"), seq)
            return point
        }
        var batch = RecordingBatch()
        batch.recordings = [recording]
        _ = try await store.store(batch)
    }

    @Test func everyPointArrivesThroughEveryFailure() async throws {
        // One of each, and then each again in another order. The waits after two failures in a row are 1 s and 2 s.
        let fates = Server.Fate.allCases.flatMap { [$0, .ok] }
        try await self.withStore { store in
            try await self.store(1...300, of: "van", in: store)
            try await self.store(1...100, of: "bus", in: store)
            try await self.withServer(fates) { server, port in
                let address = try ForwardAddress("overland+http://127.0.0.1:\(port)/in")
                let sink = try HTTPSink(address, secret: "token", timeout: .milliseconds(700))
                try await Forwarder(store, to: [.http(sink)], batchSize: 20, endsWhenEmpty: true).run()
                #expect(server.left == 0)
                let stored = server.stored.withLock { $0 }
                #expect(stored.count == 400, "\(stored.count) of 400 arrived")
                let requests = server.requests.withLock { $0 }
                #expect(requests.allSatisfy { $0.headers[.authorization] == "Bearer token" })
                // The request has the last position while further points of the trackable wait.
                #expect(requests[0].body.contains(#""current":"#))
                #expect(requests.last?.body.contains(#""current":"#) == false)
                #expect(try await store.nextForwarded(to: address.name, limit: 1).entries == [])
            }
        }
    }

    @Test func aWebhookIsSignedAndTwoSinksAreIndependent() async throws {
        try await self.withStore { store in
            try await self.store(1...50, of: "van", in: store)
            try await self.withServer([.error]) { server, port in
                let secret = "0123456789abcdef"
                let webhook = try HTTPSink(try ForwardAddress("webhook+http://127.0.0.1:\(port)/in"), secret: secret)
                // This server never answers.
                try await self.withServer(Array(repeating: .slow, count: 100)) { other, otherPort in
                    let slow = try HTTPSink(
                        try ForwardAddress("overland+http://127.0.0.1:\(otherPort)/in"), secret: nil)
                    let forwarding = Task {
                        try await Forwarder(store, to: [.http(slow), .http(webhook)], batchSize: 30).run()
                    }
                    try await self.wait { server.requests.withLock { $0.count } >= 3 }
                    try await self.wait {
                        try await store.nextForwarded(to: webhook.address.name, limit: 1).entries.isEmpty
                    }
                    forwarding.cancel()
                    _ = try? await forwarding.value
                    #expect(try await store.nextForwarded(to: slow.address.name, limit: 100).entries.count == 50)
                    #expect(other.stored.withLock { $0.isEmpty })
                }
                let requests = server.requests.withLock { $0 }
                #expect(requests[0].body == requests[1].body, "a request is repeated unchanged")
                for request in requests {
                    #expect(request.headers[.contentType] == "application/cloudevents-batch+json")
                    let signature = request.headers[try #require(HTTPField.Name("godwit-signature"))] ?? ""
                    let time = try #require(signature.split(separator: ",").first?.dropFirst(2))
                    let code = SHA256.authenticationCode(
                        for: Array("\(time).\(request.body)".utf8), key: Array(secret.utf8))
                    #expect(signature == "t=\(time),v1=\(code.hexText)")
                }
            }
        }
    }

    /// The time of a point in a request, by its number.
    private static func time(of seq: UInt64) -> String { ISO8601.text(UnixTime(1_780_000_000 + Double(seq))) }

    /// Points that a server rejects for good do not block the others, and are not lost.
    @Test func rejectedPointsAreQuarantinedAndTheOthersArrive() async throws {
        // The limit of points that are left out in a row is reached within the second group.
        let bad: Set<UInt64> = Set([7] + Array(60...75) + [299])
        try await self.withStore { store in
            try await self.store(1...300, of: "van", in: store)
            try await self.withServer(rejecting: bad) { server, port in
                let sink = try HTTPSink(try ForwardAddress("overland+http://127.0.0.1:\(port)/in"), secret: nil)
                let forwarder = Forwarder(store, to: [.http(sink)], batchSize: 50, endsWhenEmpty: true)
                try await forwarder.run()
                let expected = Set((UInt64(1)...300).filter { !bad.contains($0) }.map { "van \(Self.time(of: $0))" })
                #expect(server.stored.withLock { Set($0.keys) } == expected)
                #expect(try await store.nextForwarded(to: sink.address.name, limit: 1).entries == [])
            }
        }
    }

    /// Points that a sink accepts after it recovered are not quarantined.
    @Test func aPointIsQuarantinedOnlyAfterASecondRejection() async throws {
        try await self.withStore { store in
            try await self.store(1...20, of: "van", in: store)
            // The batches of the first five points are rejected while the sink is ill.
            try await self.withServer(Array(repeating: .invalid, count: 5)) { server, port in
                let sink = try HTTPSink(try ForwardAddress("overland+http://127.0.0.1:\(port)/in"), secret: nil)
                try await Forwarder(store, to: [.http(sink)], batchSize: 1, endsWhenEmpty: true).run()
                #expect(server.stored.withLock { $0.count } == 20)
            }
        }
    }

    /// With `--once`, the last points of a queue stay there if the sink rejects them. Other sinks get everything.
    @Test func theLastPointsRemainInTheQueueIfTheSinkRejectsThem() async throws {
        try await self.withStore { store in
            try await self.store(1...30, of: "van", in: store)
            try await self.withServer(rejecting: [29, 30]) { strict, strictPort in
                try await self.withServer { server, port in
                    let sinks = try [strictPort, port].map { port in
                        try HTTPSink(try ForwardAddress("overland+http://127.0.0.1:\(port)/in"), secret: nil)
                    }
                    let forwarder = Forwarder(
                        store, to: sinks.map { .http($0) }, batchSize: 10, endsWhenEmpty: true)
                    let error = await #expect(throws: TrackingError.self) { try await forwarder.run() }
                    #expect(error?.code == .notAcknowledged && error?.message.contains("rejects 2 points") == true)
                    #expect(strict.stored.withLock { $0.count } == 28 && server.stored.withLock { $0.count } == 30)
                    let left = try await store.nextForwarded(to: sinks[0].address.name, limit: 10).entries
                    #expect(left.compactMap(\.location?.seq) == [29, 30])
                }
            }
        }
    }

    @Test func aForwarderEndsWhenALaterOneTakesItsQueuesOver() async throws {
        try await self.withStore { store in
            try await self.store(1...10, of: "van", in: store)
            try await self.withServer { server, port in
                let address = try ForwardAddress("overland+http://127.0.0.1:\(port)/in")
                let forwarder = Forwarder(store, to: [.http(try HTTPSink(address, secret: nil))], batchSize: 10)
                let running = Task { try await forwarder.run() }
                let later = try SQLiteHistoryStore(path: store.path)
                // The first forwarder begins at some moment: only a claim after its own ends it.
                try await self.wait { server.stored.withLock { !$0.isEmpty } }
                try await later.beginForwarding(to: [address.name])
                let error = await #expect(throws: TrackingError.self) { try await running.value }
                #expect(error?.code == .takenOver)
                try await later.close()
            }
        }
    }

    @Test func onlyChosenTrackablesAreForwarded() async throws {
        try await self.withStore { store in
            for name in ["bus", "car", "van"] { try await self.store(1...10, of: name, in: store) }
            try await self.withServer { server, port in
                let sink = try HTTPSink(try ForwardAddress("overland+http://127.0.0.1:\(port)/in"), secret: nil)
                let forwarder = Forwarder(store, to: [.http(sink)], batchSize: 4, endsWhenEmpty: true) {
                    $0.rawValue == "car"
                }
                try await forwarder.run()
                #expect(server.stored.withLock { $0.keys.allSatisfy { $0.hasPrefix("car ") } && $0.count == 10 })
            }
        }
    }

    @Test func aWebhookNeedsASecret() throws {
        let error = #expect(throws: TrackingError.self) {
            _ = try HTTPSink(try ForwardAddress("webhook+https://example.org/"), secret: "short")
        }
        #expect(error?.message.contains("--secret-file") == true)
    }
}
