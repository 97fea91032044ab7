import Testing
import TrackingGateway

@Suite struct GatewayTests {
    @Test func answersWhetherItLives() async throws {
        let (ports, told) = AsyncStream.makeStream(of: Int.self)
        let gateway = Gateway(configuration: GatewayConfiguration(host: "127.0.0.1", port: 0) { told.yield($0) })
        let running = Task { try await gateway.run() }
        var port = ports.makeAsyncIterator()
        #expect(try #require(await port.next()) > 0)
        running.cancel()
        _ = try? await running.value
    }
}
