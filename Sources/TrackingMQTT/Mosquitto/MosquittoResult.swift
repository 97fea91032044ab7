import CMosquitto
import SystemLibrary
import TrackingCore

/// The failure of a libmosquitto call, which is converted to a ``TrackingError`` where it is handled.
struct MosquittoResult: Error, Hashable {
    /// The error code that libmosquitto returned, one of `MOSQ_ERR_…`.
    let code: Int32
    /// The value of `errno` after the call.
    let systemError: Int32
    /// The rule of MQTT that the broker's packet violated; `nil` if the check found no violation.
    let violation: String?

    /// Creates the result of a connection on which the broker violated MQTT.
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

    /// Throws unless `code` means success.
    static func check(_ code: Int32) throws(MosquittoResult) {
        guard code == MOSQ_ERR_SUCCESS.rawValue else { throw MosquittoResult(code) }
    }

    /// `true` if the broker ended the connection, as far as that is known.
    var isByPeer: Bool {
        switch self.code {
        case MOSQ_ERR_SUCCESS.rawValue, MOSQ_ERR_CONN_LOST.rawValue: true
        case MOSQ_ERR_ERRNO.rawValue: [0, ECONNRESET, EPIPE].contains(self.systemError)
        default: false
        }
    }

    /// `true` if libmosquitto refused a packet because it is larger than the broker accepts.
    var isTooLarge: Bool { self.code == MOSQ_ERR_OVERSIZE_PACKET.rawValue }

    /// `true` if the connection ended because the broker sent a malformed packet.
    var isMalformed: Bool {
        let codes = [MOSQ_ERR_PROTOCOL, MOSQ_ERR_MALFORMED_PACKET, MOSQ_ERR_MALFORMED_UTF8]
        return codes.contains { $0.rawValue == self.code }
    }

    /// A description of the failure.
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
        case EPROTO: "the TLS protocol failed"
        default: String(cString: strerror(error))
        }
    }

    /// Returns the failure as the refusal of one message or filter.
    func refusal(of what: String) -> TrackingError {
        switch self.code {
        case MOSQ_ERR_PAYLOAD_SIZE.rawValue, MOSQ_ERR_OVERSIZE_PACKET.rawValue:
            TrackingError(.payloadTooLarge, "\(what) is larger than the broker accepts", reasonCode: 0x95)
        case MOSQ_ERR_INVAL.rawValue, MOSQ_ERR_MALFORMED_UTF8.rawValue:
            TrackingError(.invalidName, "\(what) has a name that MQTT does not allow")
        default:
            TrackingError(.refused, "\(what) was not sent: \(self.text)")
        }
    }
}
