import TrackingCore
import TrackingMQTT
import TrackingSubscriber

func watch(_ id: String, at broker: MQTTEndpoint) async throws {
    var random = SystemRandomNumberGenerator()
    let me = SubscriberConfiguration(client: try ClientID("desk"), session: .random(using: &random))
    let connection = MQTTConfiguration(endpoints: [broker], for: me)
    let desk = AssetSubscriber(configuration: me, transport: try MQTTTransport(configuration: connection))
    let van = try TrackableID(id)
    let updates = desk.locations(of: van)
    desk.watch(van, requesting: try Resolution(accuracy: .high, desiredInterval: .seconds(1), minimumDisplacement: 1))
    async let running: Void = desk.run()
    for await received in updates where !received.isLate { print(received.update.location.coordinate) }
    try await running
}
