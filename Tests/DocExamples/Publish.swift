import TrackingCore
import TrackingMQTT
import TrackingPublisher

func track(_ id: String, from receiver: any LocationSource, to broker: MQTTEndpoint) async throws {
    var random = SystemRandomNumberGenerator()
    let me = PublisherConfiguration(client: try ClientID("van-7-box"), session: .random(using: &random))
    let connection = MQTTConfiguration(endpoints: [broker], for: me)
    let publisher = AssetPublisher(configuration: me, transport: try MQTTTransport(configuration: connection))
    publisher.add(Trackable(try TrackableID(id)))
    async let reading: Void = {
        defer { publisher.finish() }
        try await receiver.run { event in if case .fix(let fix) = event { publisher.publish(fix) } }
    }()
    _ = try await (publisher.run(), reading)
}
