import HTTPTypes
import Testing
import TrackingCore
import TrackingMetrics
import TrackingSubscriber
import TrackingTesting

@testable import TrackingGateway
@testable import TrackingRules

/// The metrics of `/metrics`, except for those of requests.
@Suite(.timeLimit(.minutes(5))) struct GatewayFiguresTests {
    @Test func metricsCountOpenStreamsAndPendingMessages() async throws {
        // No server listens on port 1.
        let webhook = try Webhook(url: "http://127.0.0.1:1/hook?key=secret", secret: "0123456789abcdef")
        let gateway = try TestGateway { $0.webhooks = [webhook] }
        let database = try GatewayDatabase(at: gateway.configuration.database)
        try await Outbox(database).begin(webhook.reader)
        let van = try TrackableID("van-7")
        try await database.write { db in
            let draft = Outbox.Draft(trackable: van, kind: .event, time: UnixTime(5), payload: "{}")
            try Outbox.add([draft, draft, draft], to: db)
        }
        let client = try ClientID("gateway")
        let subscriber = AssetSubscriber(
            configuration: SubscriberConfiguration(client: client, session: try #require(SessionID("mine"))),
            transport: InMemoryBroker().client(client))
        let metrics = PrometheusRegistry(helps: GatewayMetrics.helps)
        let application = try Gateway(
            configuration: gateway.configuration, subscriber: subscriber, metrics: metrics
        ).application()
        try await application.testRoutes { client in
            let page = try await client.execute(uri: "/metrics", method: .get).text
            for figure in [
                "godwit_gateway_live_streams 0", "godwit_gateway_trackables 0", "godwit_gateway_rule_events_total 0",
                "godwit_gateway_connected{connection=\"live\"} ", "godwit_gateway_intake_taken_total 0",
                "godwit_gateway_webhook_backlog{host=\"http://127.0.0.1:1\",webhook=\"1\"} 3",
            ] {
                #expect(page.contains("\n\(figure)"), "\(figure) of \(page)")
            }
            #expect(!page.contains("secret") && page.contains("# HELP godwit_gateway_webhook_backlog "))
        }
    }
}
