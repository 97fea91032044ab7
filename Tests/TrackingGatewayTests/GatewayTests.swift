import Testing
import TrackingGateway

@Suite struct GatewayTests {
    @Test func listensUntilItIsStopped() async throws {
        let (ports, reported) = AsyncStream.makeStream(of: Int.self)
        let stage = try TestGateway { $0.listening = { reported.yield($0) } }
        let gateway = try Gateway(configuration: stage.configuration)
        let running = Task { try await gateway.run() }
        var port = ports.makeAsyncIterator()
        #expect(try #require(await port.next()) > 0)
        running.cancel()
        _ = try? await running.value
    }
}
