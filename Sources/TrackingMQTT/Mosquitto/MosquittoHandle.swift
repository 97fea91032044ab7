import CMosquitto
import SystemLibrary
import TrackingCore

/// One libmosquitto client, created for one attempt to connect and destroyed with its connection.
///
/// A client that lives for one connection cannot resend messages that an earlier connection left in its queue. All
/// calls are on the loop's thread. With `mosquitto_threaded_set`, publishing only queues a message: the loop writes,
/// and no callback runs during a publish.
final class MosquittoHandle {
    /// The result of one step of reading or writing.
    enum Step: Hashable {
        /// More bytes may be available at once.
        case more
        /// Nothing more can be read or written until the socket is ready again.
        case drained
        /// The connection is gone.
        case ended(MosquittoResult)
    }

    /// The settings of a handle.
    struct Settings {
        var clientID: String
        var address: String
        var port: Int
        var version: ConnectionStateMachine.Version
        var will: OutgoingMessage?
        var tls: TLSContext?
        var configuration: MQTTConfiguration
        var pipe: InboundPipe
    }

    let pointer: OpaquePointer
    let sink: MosquittoSink
    /// The pipe that passes checked bytes to libmosquitto.
    let pipe: InboundPipe
    /// The check of the broker's packets.
    var packetCheck: InboundPacketCheck
    /// The number of bytes that were read from the broker.
    var received = 0
    private let version: ConnectionStateMachine.Version
    /// The connection's TLS; `nil` for none.
    let tls: TLSConnection?
    /// The socket. Without TLS the descriptor is a duplicate, because libmosquitto's own is replaced while it reads.
    let descriptor: Int32

    /// Begins to connect.
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
        let socket = mosquitto_socket(pointer)
        let descriptor = tls == nil ? fcntl(socket, F_DUPFD_CLOEXEC, 0) : socket
        guard descriptor >= 0 else { throw MosquittoResult(MOSQ_ERR_ERRNO.rawValue) }
        self.pointer = pointer
        self.sink = sink
        self.pipe = settings.pipe
        self.version = settings.version
        self.packetCheck = Self.packetCheck(settings)
        self.descriptor = descriptor
        self.tls = tls
        isMade = true
    }

    deinit {
        mosquitto_destroy(self.pointer)
        if self.tls == nil { close(self.descriptor) }
    }

    /// `true` while the socket is open.
    var isOpen: Bool { mosquitto_socket(self.pointer) >= 0 }
    /// `true` while packets wait to be written to the socket.
    var wantsWrite: Bool { mosquitto_want_write(self.pointer) }

    /// Writes the pending packets, as far as the socket accepts them.
    func write() -> Step { self.step(mosquitto_loop_write(self.pointer, 1)) }

    /// Sends a ping when one is due, and ends the connection when the last one was not answered.
    func keepAlive() -> Step { self.step(mosquitto_loop_misc(self.pointer)) }

    /// Removes libmosquitto's log callback after the connection was accepted, because libmosquitto would format a log
    /// message for each packet.
    func stopListeningToComplaints() { mosquitto_log_callback_set(self.pointer, nil) }

    /// Queues a message and returns its packet id.
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

    /// Queues a subscription to `filters`, which are valid, and returns its packet id.
    func subscribe(_ filters: [String]) throws(MosquittoResult) -> Int32 {
        var packet: Int32 = 0
        let code = Self.withCStrings(filters) { list in
            mosquitto_subscribe_multiple(self.pointer, &packet, Int32(filters.count), list, 1, 0, nil)
        }
        try MosquittoResult.check(code)
        return packet
    }

    /// Queues an UNSUBSCRIBE.
    func unsubscribe(_ filters: [String]) throws(MosquittoResult) {
        let code = Self.withCStrings(filters) { list in
            mosquitto_unsubscribe_multiple(self.pointer, nil, Int32(filters.count), list, nil)
        }
        try MosquittoResult.check(code)
    }

    /// Queues a DISCONNECT. The connection ends once it is written.
    func disconnect() { mosquitto_disconnect(self.pointer) }

    /// Returns `true` for a filter that MQTT allows.
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
