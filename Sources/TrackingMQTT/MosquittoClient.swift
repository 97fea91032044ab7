private import CMosquitto
private import Glibc
import TrackingCore

/// What libmosquitto's callbacks told during one call into it; they only note, on the loop's thread.
final class CallbackNotes {
    enum Note {
        case connected(reason: Int32, sessionPresent: Bool)
        case disconnected(reason: Int32)
        case published(mid: Int32, reason: Int32)
        case subscribed(mid: Int32, reasons: [Int32])
        case received(IncomingMessage)
    }

    var notes: [Note] = []

    static func from(_ context: UnsafeMutableRawPointer?) -> CallbackNotes? {
        context.map { Unmanaged<CallbackNotes>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// One connection attempt and, where it succeeds, the connection: a libmosquitto client that is never used twice, so that
/// nothing it queued is sent again behind our back. Used on the loop's thread only.
struct MosquittoClient: ~Copyable {
    private let pointer: OpaquePointer
    private let notes: CallbackNotes
    private var tls: UnsafeMutableRawPointer?

    /// Initialises the library, once, before any client.
    static let initializeLibrary: Void = { _ = mosquitto_lib_init() }()

    /// - Throws: `invalidConfiguration` or `tlsFailed` when an option or a file is refused.
    init(_ configuration: MQTTConfiguration, version: ConnectionStateMachine.Version, notes: CallbackNotes) throws(TrackingError) {
        let context = Unmanaged.passUnretained(notes).toOpaque()
        guard let pointer = godwit_client_new(configuration.client.rawValue, true, context) else {
            throw TrackingError(.invalidConfiguration, "no memory for a connection, or an unusable client id")
        }
        self.pointer = pointer
        self.notes = notes
        self.tls = nil
        mosquitto_int_option(
            pointer, MOSQ_OPT_PROTOCOL_VERSION, version == .v5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311)
        mosquitto_int_option(pointer, MOSQ_OPT_SEND_MAXIMUM, Int32(configuration.sendMaximum))
        mosquitto_int_option(pointer, MOSQ_OPT_RECEIVE_MAXIMUM, Int32(configuration.receiveMaximum))
        mosquitto_int_option(pointer, MOSQ_OPT_TCP_NODELAY, 1)
        mosquitto_threaded_set(pointer, true)
        self.setCallbacks()
        if let credentials = configuration.credentials {
            mosquitto_username_pw_set(pointer, credentials.user, credentials.password)
        }
    }

    deinit {
        if let tls = self.tls { godwit_tls_release(tls) }
        mosquitto_destroy(self.pointer)
    }

    private func setCallbacks() {
        mosquitto_connect_v5_callback_set(self.pointer) { _, context, reason, flags, _ in
            CallbackNotes.from(context)?.notes.append(.connected(reason: reason, sessionPresent: flags & 1 == 1))
        }
        mosquitto_disconnect_v5_callback_set(self.pointer) { _, context, reason, _ in
            CallbackNotes.from(context)?.notes.append(.disconnected(reason: reason))
        }
        mosquitto_publish_v5_callback_set(self.pointer) { _, context, mid, reason, _ in
            CallbackNotes.from(context)?.notes.append(.published(mid: mid, reason: reason))
        }
        mosquitto_subscribe_v5_callback_set(self.pointer) { _, context, mid, count, granted, _ in
            let reasons = granted.map { Array(UnsafeBufferPointer(start: $0, count: Int(count))) } ?? []
            CallbackNotes.from(context)?.notes.append(.subscribed(mid: mid, reasons: reasons))
        }
        mosquitto_message_v5_callback_set(self.pointer) { _, context, message, properties in
            guard let message, let topic = message.pointee.topic else { return }
            let payload = UnsafeRawBufferPointer(
                start: message.pointee.payload, count: Int(message.pointee.payloadlen))
            CallbackNotes.from(context)?.notes.append(
                .received(
                    IncomingMessage(
                        topic: String(cString: topic), payload: Array(payload)[...],
                        isRetained: message.pointee.retain, properties: MessageProperties(properties))))
        }
    }

    // MARK: - Connecting

    func setWill(_ will: OutgoingMessage) throws(TrackingError) {
        try check(
            mosquitto_will_set(
                self.pointer, will.topic, Int32(will.payload.count), will.payload, 1, will.isRetained),
            "the will cannot be set")
    }

    func setTLS(_ tls: MQTTConfiguration.TLS) throws(TrackingError) {
        let directory = tls.authorities == nil ? "/etc/ssl/certs" : nil
        try check(
            mosquitto_tls_set(self.pointer, tls.authorities, directory, tls.certificate, tls.key, nil),
            "the files of --ca, --cert and --key cannot be used; check that they are PEM and readable")
    }

    /// Begins to connect; blocks only as long as the name takes to resolve.
    mutating func connect(to endpoint: MQTTEndpoint, keepAlive: Duration) throws(TrackingError) {
        let result = mosquitto_connect_bind_async(
            self.pointer, endpoint.host, Int32(endpoint.port), Int32(max(5, min(60, keepAlive.inSeconds))), nil)
        if endpoint.isTLS { self.tls = godwit_tls_retain(self.pointer, endpoint.host) }
        try check(result, "\(endpoint.host):\(endpoint.port) cannot be reached", otherwise: .brokerUnreachable)
    }

    var descriptor: Int32 { mosquitto_socket(self.pointer) }
    var wantsToWrite: Bool { mosquitto_want_write(self.pointer) }

    /// Why TLS refused the broker; `nil` where it did not.
    func tlsError(_ endpoint: MQTTEndpoint) -> TrackingError? {
        guard let tls = self.tls else { return nil }
        let at = "the certificate of \(endpoint.host):\(endpoint.port)"
        switch Int32(truncatingIfNeeded: godwit_tls_result(tls)) {
        case X509_V_OK: return nil
        case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID:
            return TrackingError(.certificateExpired, "\(at) has expired or is not yet valid; renew it, or set the clock")
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            return TrackingError(.certificateHostMismatch, "\(at) is for another host; use a name that it lists")
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
            return TrackingError(
                .certificateUnknownAuthority, "\(at) was signed by an authority that is not trusted here; give it with --ca")
        case let other:
            return TrackingError(.tlsFailed, "\(at) was refused (OpenSSL verification result \(other))")
        }
    }

    // MARK: - The loop

    /// Reads while packets come, up to a bound; 0 is success.
    func read() -> Int32 { mosquitto_loop_read(self.pointer, 100) }
    func write() -> Int32 { mosquitto_loop_write(self.pointer, 1000) }
    func misc() -> Int32 { mosquitto_loop_misc(self.pointer) }

    // MARK: - Commands

    func publish(_ message: OutgoingMessage, isVersion5: Bool) -> (mid: Int32, result: Int32) {
        var mid: Int32 = 0
        var properties: OpaquePointer?
        if isVersion5 { message.properties.add(to: &properties) }
        defer { mosquitto_property_free_all(&properties) }
        let result = mosquitto_publish_v5(
            self.pointer, &mid, message.topic, Int32(message.payload.count), message.payload, 1, message.isRetained,
            properties)
        return (mid, result)
    }

    func subscribe(_ filters: [String]) -> (mid: Int32, result: Int32) {
        var mid: Int32 = 0
        let result = withCStrings(filters) {
            mosquitto_subscribe_multiple(self.pointer, &mid, Int32(filters.count), $0, 1, 0, nil)
        }
        return (mid, result)
    }

    func unsubscribe(_ filters: [String]) {
        _ = withCStrings(filters) { mosquitto_unsubscribe_multiple(self.pointer, nil, Int32(filters.count), $0, nil) }
    }

    func disconnect() { mosquitto_disconnect(self.pointer) }
}

/// Calls with an array of C strings.
private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return copies.withUnsafeBufferPointer { buffer in
        guard let base = buffer.baseAddress else { preconditionFailure("no filters") }
        return body(base)
    }
}

/// Turns a result of libmosquitto into an error, at the call.
private func check(
    _ result: Int32, _ what: String, otherwise code: TrackingError.Code = .invalidConfiguration
) throws(TrackingError) {
    guard result != MOSQ_ERR_SUCCESS.rawValue, result != MOSQ_ERR_CONN_PENDING.rawValue else { return }
    throw MosquittoClient.error(result, what, otherwise: code)
}

extension MosquittoClient {
    /// The error of a result code of libmosquitto.
    static func error(_ result: Int32, _ what: String, otherwise code: TrackingError.Code) -> TrackingError {
        let system = result == MOSQ_ERR_ERRNO.rawValue ? String(cString: strerror(errno)) : String(cString: mosquitto_strerror(result))
        let isTLS = result == MOSQ_ERR_TLS.rawValue
        return TrackingError(isTLS ? .tlsFailed : code, "\(what): \(system)")
    }

    /// The error of a reason code of the broker, in the numbering of MQTT 5.
    static func refusal(_ reason: Int32, of what: String) -> TrackingError {
        let text = String(cString: mosquitto_reason_string(reason))
        let code: TrackingError.Code =
            switch reason {
            case 0x86: .badCredentials
            case 0x87: .notAuthorized
            default: .refused
            }
        return TrackingError(code, "the broker refused \(what): \(text)", reasonCode: UInt8(truncatingIfNeeded: reason))
    }

    /// A CONNACK's reason in the numbering of MQTT 5, whichever version was spoken.
    static func connackReason(_ reason: Int32) -> Int32 {
        switch reason {
        case 1: 0x84
        case 2: 0x85
        case 3: 0x88
        case 4: 0x86
        case 5: 0x87
        default: reason
        }
    }

    /// Whether a result of publishing says that this message can never be sent.
    static func isRefusedForGood(_ result: Int32) -> Bool {
        [MOSQ_ERR_INVAL, MOSQ_ERR_PAYLOAD_SIZE, MOSQ_ERR_MALFORMED_UTF8, MOSQ_ERR_OVERSIZE_PACKET, MOSQ_ERR_QOS_NOT_SUPPORTED, MOSQ_ERR_RETAIN_NOT_SUPPORTED]
            .contains { $0.rawValue == result }
    }
}

extension MessageProperties {
    fileprivate init(_ list: OpaquePointer?) {
        self.init()
        guard let list else { return }
        var text: UnsafeMutablePointer<CChar>?
        if mosquitto_property_read_string(list, Int32(MQTT_PROP_CONTENT_TYPE.rawValue), &text, false) != nil, let text {
            self.contentType = String(cString: text)
            free(text)
        }
        text = nil
        if mosquitto_property_read_string(list, Int32(MQTT_PROP_RESPONSE_TOPIC.rawValue), &text, false) != nil, let text {
            self.responseTopic = String(cString: text)
            free(text)
        }
        var data: UnsafeMutableRawPointer?
        var count: UInt16 = 0
        if mosquitto_property_read_binary(list, Int32(MQTT_PROP_CORRELATION_DATA.rawValue), &data, &count, false) != nil, let data {
            self.correlationData = Array(UnsafeRawBufferPointer(start: data, count: Int(count)))
            free(data)
        }
        var seconds: UInt32 = 0
        if mosquitto_property_read_int32(list, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), &seconds, false) != nil {
            self.expiry = .seconds(seconds)
        }
    }

    fileprivate func add(to list: inout OpaquePointer?) {
        if let contentType {
            mosquitto_property_add_string(&list, Int32(MQTT_PROP_CONTENT_TYPE.rawValue), contentType)
        }
        if let responseTopic {
            mosquitto_property_add_string(&list, Int32(MQTT_PROP_RESPONSE_TOPIC.rawValue), responseTopic)
        }
        if let correlationData {
            mosquitto_property_add_binary(
                &list, Int32(MQTT_PROP_CORRELATION_DATA.rawValue), correlationData, UInt16(correlationData.count))
        }
        if let expiry {
            mosquitto_property_add_int32(
                &list, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), UInt32(max(0, min(expiry.inSeconds, 4e9))))
        }
    }
}
