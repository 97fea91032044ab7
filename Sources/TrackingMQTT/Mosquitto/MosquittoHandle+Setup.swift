import CMosquitto
import TrackingCore

extension MosquittoHandle {
    static func configure(_ client: OpaquePointer, _ settings: Settings) throws(MosquittoResult) {
        let configuration = settings.configuration
        let version = settings.version == .v5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311
        try MosquittoResult.check(mosquitto_threaded_set(client, true))
        try MosquittoResult.check(mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, version))
        try MosquittoResult.check(mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1))
        try MosquittoResult.check(
            mosquitto_int_option(client, MOSQ_OPT_SEND_MAXIMUM, Int32(configuration.sendMaximum)))
        try MosquittoResult.check(
            mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, Int32(configuration.receiveMaximum)))
        if let credentials = settings.credentials {
            try MosquittoResult.check(
                mosquitto_username_pw_set(client, credentials.user, credentials.password))
        }
        if let will = settings.will { try self.setWill(client, will) }
        if let tls = settings.tls {
            try MosquittoResult.check(mosquitto_int_option(client, MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0))
            try MosquittoResult.check(mosquitto_void_option(client, MOSQ_OPT_SSL_CTX, tls.pointer))
        }
        if settings.version == .v5 { try self.setConnectProperties(client, configuration) }
    }

    private static func setWill(_ client: OpaquePointer, _ will: OutgoingMessage) throws(MosquittoResult) {
        guard will.payload.count <= 65_535 else { throw MosquittoResult(MOSQ_ERR_PAYLOAD_SIZE.rawValue) }
        try MosquittoResult.check(
            mosquitto_will_set(
                client, will.topic, Int32(will.payload.count), will.payload, 1, will.isRetained))
    }

    /// Sets the MQTT 5 properties of the CONNECT packet. libmosquitto accepts them only in a blocking connect.
    /// Therefore that function is called first without a host: it stores the properties and fails before it uses the
    /// network.
    private static func setConnectProperties(
        _ client: OpaquePointer, _ configuration: MQTTConfiguration
    ) throws(MosquittoResult) {
        let expiry: Duration? = if case .kept(let duration) = configuration.session { duration } else { nil }
        let properties = PropertyList.connect(sessionExpiry: expiry, packetSize: configuration.limits.packetSize)
        let code = mosquitto_connect_bind_v5(client, nil, 1883, 60, nil, properties.pointer)
        guard code == MOSQ_ERR_INVAL.rawValue else { throw MosquittoResult(code) }
    }

    /// Creates the check of packets for a new connection. With MQTT 5, packets above the configured size are rejected.
    /// MQTT 3.1.1 cannot announce a limit to the broker, so only the protocol's own limit applies.
    static func packetCheck(_ settings: Settings) -> InboundPacketCheck {
        switch settings.version {
        case .v311: InboundPacketCheck(version: .v311)
        case .v5: InboundPacketCheck(version: .v5, maximumPacketSize: settings.configuration.limits.packetSize)
        }
    }

    static func setCallbacks(_ client: OpaquePointer) {
        mosquitto_connect_v5_callback_set(client) { _, context, code, flags, properties in
            MosquittoSink.from(context).accepted(code: code, flags: flags, properties: properties)
        }
        mosquitto_disconnect_v5_callback_set(client) { _, context, code, _ in
            MosquittoSink.from(context).disconnected(code: code)
        }
        mosquitto_message_v5_callback_set(client) { _, context, message, properties in
            guard let message else { return }
            MosquittoSink.from(context).received(message, properties: properties)
        }
        mosquitto_publish_v5_callback_set(client) { _, context, packet, code, _ in
            MosquittoSink.from(context).published(packet: packet, code: code)
        }
        mosquitto_subscribe_v5_callback_set(client) { _, context, packet, count, codes, _ in
            MosquittoSink.from(context).subscribed(
                packet: packet, codes: UnsafeBufferPointer(start: codes, count: Int(count)))
        }
        mosquitto_log_callback_set(client) { _, context, level, text in
            guard level == MOSQ_LOG_ERR, let text else { return }
            MosquittoSink.from(context).complaint = String(cString: text)
        }
    }
}
