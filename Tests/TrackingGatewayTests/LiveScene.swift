import Foundation
import Hummingbird
import NIOCore
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing
import TrackingCore
import TrackingStore
import TrackingSubscriber
import TrackingTesting

@testable import TrackingGateway

/// A gateway's live routes on a free port, their subscriber on the broker in memory, and a publisher that a test plays.
final class LiveScene: Sendable {
    /// The caller of every request.
    let caller = Mutex<Caller?>(Caller(name: "test", reads: .all))
    private let broker = InMemoryBroker()
    private let device: InMemoryBroker.Client
    private let port: Int

    private init(port: Int, device: ClientID) {
        self.port = port
        self.device = self.broker.client(device)
    }

    /// Gives `caller` to every request.
    private struct SetCaller: RouterMiddleware {
        let scene: @Sendable () -> Caller?

        func handle(
            _ request: Request, context: GatewayRequestContext,
            next: @concurrent (Request, GatewayRequestContext) async throws -> Response
        ) async throws -> Response {
            var context = context
            context.caller = self.scene()
            return try await next(request, context)
        }
    }

    static func run(
        history: (any HistoryStore)? = nil, preferring kind: PositionKind = .published,
        _ body: @escaping @Sendable (LiveScene) async throws -> Void
    ) async throws {
        let scene = LiveScene(port: try LoopbackPort.free(), device: try ClientID("device"))
        var configuration = SubscriberConfiguration(
            client: try ClientID("gateway"), session: try #require(SessionID("mine")))
        configuration.watchesAll = true
        configuration.prefers = kind
        configuration.isPresentOnlyWhileAsking = true
        let subscriber = AssetSubscriber(
            configuration: configuration, transport: scene.broker.client(configuration.client))
        let hub = LiveHub(subscriber)
        let router = Router(context: GatewayRequestContext.self)
        router.add(middleware: SetCaller { scene.caller.withLock { $0 } })
        LiveRoutes(hub: hub, history: history).add(to: router)
        let (running, reported) = AsyncStream.makeStream(of: Void.self)
        let application = Application(
            router: router, server: ConnectionLimits().server,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: scene.port)),
            onServerRunning: { _ in reported.finish() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            group.addTask { try await subscriber.run() }
            group.addTask { await hub.run() }
            group.addTask { await scene.device.run() }
            let (connected, deliver) = AsyncStream.makeStream(of: Void.self)
            group.addTask {
                for await events in scene.device.events {
                    if case .connected? = events.first { deliver.finish() }
                }
            }
            for await _ in running {}
            for await _ in connected {}
            try await body(scene)
            group.cancelAll()
        }
    }

    /// The gateway's clock.
    var now: UnixTime { UnixTime(Date().timeIntervalSince1970) }

    /// A publisher without presence sends a position.
    func move(_ id: TrackableID, _ seq: UInt64, time: Double? = nil) throws {
        var fix = Location(
            coordinate: try #require(Coordinate(latitude: 52, longitude: -8)),
            time: UnixTime(time ?? 1_790_000_000 + Double(seq)))
        (fix.stream, fix.seq) = (StreamID("one"), seq)
        let message = OutgoingMessage(
            topic: "tracking/\(id.topicLevel)", payload: try LocationCodec.encode(LocationUpdate(location: fix)),
            isRetained: true)
        self.device.send([.publish(message, seq)])
    }

    /// Returns the `seq` of a position.
    func seq(_ event: ServerSentEvent) throws -> UInt64 {
        let value = try JSONValue(json: event.data.utf8)
        return UInt64(try #require(value["location"]?["properties"]?["seq"]?.count))
    }

    /// An enhancer sends the position on the road of a fix.
    func enhance(_ id: TrackableID, _ seq: UInt64) throws {
        var fix = Location(
            coordinate: try #require(Coordinate(latitude: 52, longitude: -8)),
            time: UnixTime(1_790_000_000 + Double(seq)))
        (fix.stream, fix.seq) = (StreamID("one"), seq)
        let update = LocationUpdate(location: fix, enhancement: Enhancement(confidence: .matched, road: "Main Street"))
        let message = OutgoingMessage(
            topic: "tracking/\(id.topicLevel)/enhanced", payload: try LocationCodec.encode(update), isRetained: true)
        self.device.send([.publish(message, seq)])
    }

    func open(_ query: String = "", headers: [String: String] = [:]) async throws -> EventStream {
        try await EventStream("/api/v1/live\(query)", port: self.port, headers: headers)
    }

    func request(_ method: String, _ path: String, _ body: String? = nil) async throws -> LoopbackHTTP.Answer {
        try await LoopbackHTTP.request(method, path, port: self.port, body: body)
    }

    /// Returns the name of a stream, from its first event.
    func name(_ stream: EventStream) async throws -> String {
        let hello = try await stream.first { $0.name == "hello" }
        return try #require(try JSONValue(json: hello.data.utf8)["stream"]?.text)
    }

    /// Requests a resolution, and returns the status.
    func ask(_ id: String, _ interval: Int, _ stream: String) async throws -> Int {
        try await self.request(
            "POST", "/api/v1/trackables/\(id)/resolution?stream=\(stream)",
            #"{"accuracy":"HIGH","desiredInterval":\#(interval),"minimumDisplacement":1}"#
        ).status
    }

    /// `true` if the gateway is present on the van.
    var isPresent: Bool { self.broker.retained("tracking/van/subscriber/gateway") != nil }

    /// Waits until the gateway requests this interval from the publisher of the van, in ms.
    func isAsked(_ interval: Int?) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let request = self.broker.retained("tracking/van/request/gateway")
            let asked = try request.flatMap { try JSONValue(json: $0)["resolution"]?["desiredInterval"]?.count }
            if asked == interval { return }
            try #require(
                ContinuousClock.now < deadline, "asked for \(String(describing: asked)), not \(interval ?? -1)")
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
