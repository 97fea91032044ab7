import TrackingCore
import TrackingMQTT

func withWill(_ configuration: MQTTConfiguration, session: SessionID) -> MQTTConfiguration {
    var configuration = configuration
    let topic = TopicRoot.standard.path(Topic.liveness(configuration.client))
    configuration.will = { connection in
        let goodbye = SessionStateMachine.goodbye(session: session, connection: connection)
        return OutgoingMessage(topic: topic, payload: MessageCodec.encode(goodbye), isRetained: true)
    }
    return configuration
}
