import CMosquitto
import SystemLibrary
import TrackingCore

/// One libmosquitto client for one attempt to connect and the resulting connection. Each attempt gets a new one, so
/// that messages of an earlier connection are never sent again from its queue.
///
/// All calls are on the event loop's thread. Publishing only queues a message. The event loop writes it later, and no
/// callback runs during a publish.
final class MosquittoHandle {
    /// The result of one step of reading from the broker's connection or of writing to it.
    enum Step: Hashable {
        /// Reading or writing succeeded. More bytes may be readable or writable at once, so the next step follows.
        case more
        /// No bytes can be read from the connection, or written to it, now. Reading or writing continues when the
        /// socket is ready again.
        case drained
        /// The connection has ended, for the given reason.
        case ended(MosquittoResult)
    }

    /// The settings of one libmosquitto client, such as the client id, the broker's address, the MQTT version, the will,
    /// TLS and the credentials.
    struct Settings {
        var clientID: String
        var address: String
        var port: Int
        var version: ConnectionStateMachine.Version
        var will: OutgoingMessage?
        var tls: TLSContext?
        var credentials: MQTTCredentials?
        var configuration: MQTTConfiguration
        var pipe: InboundPipe
    }

    let pointer: OpaquePointer
    let sink: MosquittoSink
    /// The pipe through which checked bytes reach libmosquitto.
    let pipe: InboundPipe
    /// The check that examines the broker's packets before libmosquitto parses them.
    var packetCheck: InboundPacketCheck
    /// The number of bytes that were read from the broker on this connection. Packets of every kind count.
    var received = 0
    private let version: ConnectionStateMachine.Version
    /// The TLS session of the connection; `nil` for a connection without TLS.
    let tls: TLSConnection?
    /// The descriptor of the socket. It is a duplicate, because libmosquitto's own descriptor points to a pipe while
    /// libmosquitto reads without TLS, and because libmosquitto closes its own one right after a DISCONNECT.
    let descriptor: Int32
    private let subscriptionQoS: Int32
    private var ownsDescriptor = true

    /// Creates a libmosquitto client and begins to connect it.
    ///
    /// - Throws: libmosquitto's error about the settings or the address.
    init(_ settings: Settings, sink: MosquittoSink) throws(MosquittoResult) {
        MosquittoLibrary.load()
        let isClean = settings.configuration.session == .clean
        let context = Unmanaged.passUnretained(sink).toOpaque()
        guard let pointer = mosquitto_new(settings.clientID, isClean, context) else {
            throw MosquittoResult(MOSQ_ERR_NOMEM.rawValue)
        }
        var isMade = false
        defer { if !isMade { mosquitto_destroy(pointer) } }
        _ = godwit_silence_socket_pair(pointer, MosquittoLibrary.devNull)
        try Self.configure(pointer, settings)
        Self.setCallbacks(pointer)
        let keepAlive = Int32(settings.configuration.keepAlive.components.seconds)
        try MosquittoResult.check(
            mosquitto_connect_async(pointer, settings.address, Int32(settings.port), keepAlive))
        godwit_close_on_exec(mosquitto_socket(pointer))
        let tls = mosquitto_ssl_get(pointer).map { TLSConnection($0) }
        let descriptor = fcntl(mosquitto_socket(pointer), F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw MosquittoResult(MOSQ_ERR_ERRNO.rawValue) }
        self.pointer = pointer
        self.sink = sink
        self.pipe = settings.pipe
        self.version = settings.version
        self.subscriptionQoS = isClean ? Int32(settings.configuration.subscriptionQoS.rawValue) : 1
        self.packetCheck = Self.packetCheck(settings)
        self.descriptor = descriptor
        self.tls = tls
        isMade = true
    }

    deinit {
        mosquitto_destroy(self.pointer)
        if self.ownsDescriptor { close(self.descriptor) }
    }

    /// Returns the socket after a DISCONNECT was written to it. It stays open when the handle is destroyed.
    func takeSocket() -> ClosingSocket {
        self.ownsDescriptor = false
        return ClosingSocket(self.descriptor)
    }

    /// `true` while libmosquitto has an open socket.
    var isOpen: Bool { mosquitto_socket(self.pointer) >= 0 }
    /// `true` while packets wait to be written to the socket.
    var wantsWrite: Bool { mosquitto_want_write(self.pointer) }

    /// Writes the pending packets, as far as the socket accepts them.
    func write() -> Step { self.step(mosquitto_loop_write(self.pointer, 1)) }

    /// Sends a ping if one is due. Ends the connection if the broker did not answer the last ping in time.
    func keepAlive() -> Step { self.step(mosquitto_loop_misc(self.pointer)) }

    /// Stops receiving log messages of libmosquitto once the broker has accepted the connection. libmosquitto would
    /// otherwise format a text for each packet.
    func stopListeningToComplaints() { mosquitto_log_callback_set(self.pointer, nil) }

    /// Queues a message for publishing at QoS 1 and returns its packet id.
    func publish(_ message: OutgoingMessage) throws(MosquittoResult) -> Int32 {
        var packet: Int32 = 0
        let count = Int32(clamping: message.payload.count)
        if self.version == .v311 || message.properties == MessageProperties() {
            try MosquittoResult.check(
                mosquitto_publish(self.pointer, &packet, message.topic, count, message.payload, 1, message.isRetained))
        } else {
            let properties = PropertyList.publish(message.properties)
            try MosquittoResult.check(
                mosquitto_publish_v5(
                    self.pointer, &packet, message.topic, count, message.payload, 1, message.isRetained,
                    properties.pointer))
        }
        return packet
    }

    /// Queues a subscription and returns its packet id. Each filter must be valid.
    func subscribe(_ filters: [String]) throws(MosquittoResult) -> Int32 {
        var packet: Int32 = 0
        let code = Self.withCStrings(filters) { list in
            mosquitto_subscribe_multiple(
                self.pointer, &packet, Int32(filters.count), list, self.subscriptionQoS, 0, nil)
        }
        try MosquittoResult.check(code)
        return packet
    }

    /// Queues an UNSUBSCRIBE packet for these topic filters.
    func unsubscribe(_ filters: [String]) throws(MosquittoResult) {
        let code = Self.withCStrings(filters) { list in
            mosquitto_unsubscribe_multiple(self.pointer, nil, Int32(filters.count), list, nil)
        }
        try MosquittoResult.check(code)
    }

    /// Queues a DISCONNECT packet. The connection ends once the packet is written.
    func disconnect() { mosquitto_disconnect(self.pointer) }

    /// Returns `true` for a topic filter that MQTT allows.
    static func isValid(filter: String) -> Bool {
        !filter.utf8.contains(0) && mosquitto_sub_topic_check(filter) == MOSQ_ERR_SUCCESS.rawValue
            && filter.utf8.count <= 65_535 && !filter.isEmpty
    }

    private func step(_ code: Int32) -> Step {
        let error = godwit_errno()
        guard code == MOSQ_ERR_SUCCESS.rawValue, self.isOpen else {
            return .ended(MosquittoResult(code, systemError: error))
        }
        return .drained
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies)
    }
}
