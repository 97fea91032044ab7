import CMosquitto
import SystemLibrary
import TrackingCore

/// The result of a libmosquitto call that failed or that ended a connection. It is converted to a ``TrackingError``
/// where it is handled.
struct MosquittoResult: Error, Hashable {
    /// The error code that libmosquitto returned, one of `MOSQ_ERR_…`.
    let code: Int32
    /// The value of `errno` after the failed call to libmosquitto.
    let systemError: Int32
    /// The rule of MQTT that the broker's packet violated; `nil` if the check found no violation.
    let violation: String?

    /// Creates the result for a connection that ends because the broker violated MQTT. `violation` names the rule.
    init(violation: String) {
        self.code = MOSQ_ERR_MALFORMED_PACKET.rawValue
        self.systemError = 0
        self.violation = violation
    }

    init(_ code: Int32, systemError: Int32 = godwit_errno()) {
        self.code = code
        self.systemError = systemError
        self.violation = nil
    }

    /// Throws if a libmosquitto return code is not success.
    static func check(_ code: Int32) throws(MosquittoResult) {
        guard code == MOSQ_ERR_SUCCESS.rawValue else { throw MosquittoResult(code) }
    }

    /// `true` if the error codes indicate that the broker closed the connection.
    var isByPeer: Bool {
        switch self.code {
        case MOSQ_ERR_SUCCESS.rawValue, MOSQ_ERR_CONN_LOST.rawValue: true
        case MOSQ_ERR_ERRNO.rawValue: [0, ECONNRESET, EPIPE].contains(self.systemError)
        default: false
        }
    }

    /// `true` if libmosquitto refused a packet because it is larger than the broker accepts.
    var isTooLarge: Bool { self.code == MOSQ_ERR_OVERSIZE_PACKET.rawValue }

    /// `true` if the connection ended because the broker did not answer a ping.
    var isUnansweredPing: Bool { self.code == MOSQ_ERR_KEEPALIVE.rawValue }

    /// `true` if the connection ended because the broker sent a malformed packet.
    var isMalformed: Bool {
        let codes = [MOSQ_ERR_PROTOCOL, MOSQ_ERR_MALFORMED_PACKET, MOSQ_ERR_MALFORMED_UTF8]
        return codes.contains { $0.rawValue == self.code }
    }

    /// A text that describes why the call to libmosquitto failed or the connection ended, for errors and logs.
    var text: String {
        if let violation { return "the broker sent a malformed packet: \(violation)" }
        return switch self.code {
        case MOSQ_ERR_ERRNO.rawValue: Self.systemText(self.systemError)
        case MOSQ_ERR_SUCCESS.rawValue, MOSQ_ERR_CONN_LOST.rawValue: "the broker closed the connection"
        case MOSQ_ERR_KEEPALIVE.rawValue: "the broker did not answer a ping"
        default: String(cString: mosquitto_strerror(self.code))
        }
    }

    static func systemText(_ error: Int32) -> String {
        switch error {
        case 0: "the broker closed the connection"
        case EPROTO: "the TLS connection failed"
        default: String(cString: strerror(error))
        }
    }

    /// Returns the failure as an error about one message or subscription that was not sent. `what` names it in the
    /// error's text.
    func refusal(of what: String) -> TrackingError {
        switch self.code {
        case MOSQ_ERR_PAYLOAD_SIZE.rawValue, MOSQ_ERR_OVERSIZE_PACKET.rawValue:
            TrackingError(
                .payloadTooLarge,
                "cannot send \(what): it is larger than the broker accepts. Send less at once, or raise the broker's max_packet_size",
                reasonCode: 0x95)
        case MOSQ_ERR_INVAL.rawValue, MOSQ_ERR_MALFORMED_UTF8.rawValue:
            TrackingError(
                .invalidName, "cannot send \(what): MQTT does not allow its topic or filter. Correct the name")
        default:
            TrackingError(.refused, "cannot send \(what) to the broker, because libmosquitto failed: \(self.text)")
        }
    }
}
