import Godwit

func watch(at broker: String) async throws {
    let desk = try AssetSubscriber(broker: broker, client: "desk")
    for await update in desk.locations(of: "van-7", requesting: .high(every: .seconds(1))) { print(update.coordinate) }
}
