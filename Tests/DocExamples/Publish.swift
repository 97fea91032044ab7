import Godwit

func track(_ receiver: some LocationSource, to broker: String) async throws {
    let publisher = try AssetPublisher(broker: broker, client: "van-7-box")
    publisher.track("van-7")
    try await publisher.run(reading: receiver, battery: .system)
}
