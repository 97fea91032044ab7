import TrackingCore
import TrackingTesting

func cutAConnection() throws {
    let broker = InMemoryBroker()
    let van = broker.client(try ClientID("van-7"))
    // Pass `van` to a publisher as its transport, and another client to a subscriber.
    broker.disconnect(van.id)
}
