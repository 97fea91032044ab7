import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import ServiceLifecycle
import Synchronization

/// A client that calls the routes of an application without a socket.
struct RouterClient: Sendable {
    /// The answer of a route.
    struct Answer: Sendable {
        var status: HTTPResponse.Status
        var headers: HTTPFields
        var body: ByteBuffer
    }

    fileprivate let respond: @Sendable (Request) async throws -> Answer

    /// Calls a route, and returns its answer.
    @discardableResult func execute(
        uri: String, method: HTTPRequest.Method, headers: HTTPFields = [:], body: ByteBuffer? = nil
    ) async throws -> Answer {
        var headers = headers
        if let body { headers[.contentLength] = "\(body.readableBytes)" }
        let head = HTTPRequest(
            method: method, scheme: "http", authority: "localhost", path: uri, headerFields: headers)
        return try await self.respond(Request(head: head, body: RequestBody(buffer: body ?? ByteBuffer())))
    }

    /// Calls a route, and returns the result of `check` for its answer.
    @discardableResult func execute<Value>(
        uri: String, method: HTTPRequest.Method, headers: HTTPFields = [:], body: ByteBuffer? = nil,
        check: (Answer) async throws -> Value
    ) async throws -> Value {
        try await check(try await self.execute(uri: uri, method: method, headers: headers, body: body))
    }
}

/// A body that is kept in memory.
private final class BodyCollector: ResponseBodyWriter, Sendable {
    private let body = Mutex(ByteBuffer())
    var bytes: ByteBuffer { self.body.withLock { $0 } }
    func write(_ buffer: ByteBuffer) async throws { self.body.withLock { _ = $0.writeImmutableBuffer(buffer) } }
    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}

extension ApplicationProtocol {
    /// Runs the services of this application and `test`, which calls its routes.
    func testRoutes<Value: Sendable>(_ test: @Sendable (RouterClient) async throws -> Value) async throws -> Value {
        let (responder, logger) = (try await self.responder, self.logger)
        let client = RouterClient { request in
            let context = Context(source: .init(channel: NIOAsyncTestingChannel(), logger: logger))
            let response: Response
            do { response = try await responder.respond(to: request, context: context) } catch {
                response = Response(status: .internalServerError)
            }
            let body = BodyCollector()
            try await response.body.write(body)
            return RouterClient.Answer(status: response.status, headers: response.headers, body: body.bytes)
        }
        for process in self.processesRunBeforeServerStart { try await process() }
        let group = ServiceGroup(configuration: .init(services: self.services, logger: logger))
        async let running: Void = self.services.isEmpty ? () : group.run()
        do {
            let value = try await test(client)
            await group.triggerGracefulShutdown()
            try await running
            return value
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
    }
}
