import TrackingCore
import TrackingMQTT
import TrackingPublisher

func trackWithOwnConnection(_ id: TrackableID, from receiver: some LocationSource) async throws {
    var random = SystemRandomNumberGenerator()
    let me = PublisherConfiguration(client: try ClientID("van-7-box"), session: .random(using: &random))
    var connection = MQTTConfiguration(endpoints: [MQTTEndpoint(host: "broker.example.org", isTLS: true)], for: me)
    connection.tls.authorities = "/etc/godwit/ca.crt"
    let publisher = AssetPublisher(configuration: me, transport: try MQTTTransport(configuration: connection))
    publisher.track(Trackable(id))
    try await publisher.run(reading: receiver, battery: .system)
}
