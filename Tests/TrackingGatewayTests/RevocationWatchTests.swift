import TestSupport
import Testing
import TrackingCore
import TrackingRules
import TrackingSubscriber

@testable import TrackingGateway

/// Streams end with the access of their callers.
@Suite(.timeLimit(.minutes(5))) struct RevocationWatchTests {
    /// Opens a stream of a token and one without a token, and waits until the first has ended.
    private func ending(
        ends: UnixTime? = nil, opensFirst: Bool, database: String? = nil,
        _ act: @Sendable (TestGateway) async throws -> Void
    ) async throws -> LiveStream.Ending {
        let gateway = try TestGateway { if let database { $0.database = database } }
        let token = try await gateway.token(ends: ends)
        // A slow machine may come here after the end of the token.
        let caller = try #require(try await gateway.access.caller(presenting: token, now: UnixTime(1)))
        let (events, received) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let hub = LiveHub(events: events) { _, _ in }
        let selection = LiveSelection(.everything, reads: .all)
        let first = opensFirst ? try #require(hub.open(selection, for: caller, after: nil) {}) : nil
        let other = try #require(hub.open(selection, for: Caller(name: "other", reads: .all), after: nil) {})
        let watch = RevocationWatch(hub: hub, database: try GatewayDatabase(at: gateway.configuration.database))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await watch.run() }
            defer { group.cancelAll() }
            let stream = try first ?? #require(hub.open(selection, for: caller, after: nil) {})
            try await act(gateway)
            while true {
                guard case .ended(let ending) = await stream.next() else { continue }
                #expect(!other.isOver)
                withExtendedLifetime(received) {}
                return ending
            }
        }
    }

    /// The token is revoked through another connection to the database, as `godwit token revoke` does.
    @Test(arguments: [false, true]) func aRevokedTokenEndsItsStreams(opensFirst: Bool) async throws {
        let ending = try await self.ending(opensFirst: opensFirst) { gateway in
            let isRevoked = try await gateway.access.revokeToken("desk", now: TestGateway.now)
            #expect(isRevoked)
        }
        #expect(ending == .expired)
    }

    /// The token is revoked at another gateway, or by a command on another machine.
    @Test func aTokenThatIsRevokedAtAnotherGatewayEndsItsStreams() async throws {
        let server = try await PostgresServer.shared()
        let ending = try await self.ending(opensFirst: true, database: try await server.makeDatabase()) { gateway in
            let other = AccessStore(try GatewayDatabase(at: gateway.configuration.database))
            let isRevoked = try await other.revokeToken("desk", now: TestGateway.now)
            #expect(isRevoked)
        }
        #expect(ending == .expired)
        withExtendedLifetime(server) {}
    }

    @Test(arguments: [false, true]) func anExpiredTokenEndsItsStreams(opensFirst: Bool) async throws {
        let end = TestGateway.now.advanced(by: .seconds(1.5))
        let ending = try await self.ending(ends: end, opensFirst: opensFirst) { _ in }
        #expect(ending == .expired && TestGateway.now >= end)
    }
}
