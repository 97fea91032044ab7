import CMosquitto
import Glibc
import TrackingCore

/// How a call of libmosquitto ended, when not well: turned into a ``TrackingError`` once, at the call.
struct MosquittoResult: Error, Hashable {
    /// One of `MOSQ_ERR_…`.
    let code: Int32
    /// `errno` as the call left it.
    let systemError: Int32

    init(_ code: Int32, systemError: Int32 = godwit_errno()) {
        self.code = code
        self.systemError = systemError
    }

    /// Throws unless `code` says success.
    static func check(_ code: Int32) throws(MosquittoResult) {
        guard code == MOSQ_ERR_SUCCESS.rawValue else { throw MosquittoResult(code) }
    }

    /// Whether the other side ended it, as far as can be told.
    var isByPeer: Bool {
        switch self.code {
        case MOSQ_ERR_SUCCESS.rawValue, MOSQ_ERR_CONN_LOST.rawValue: true
        case MOSQ_ERR_ERRNO.rawValue: [0, ECONNRESET, EPIPE].contains(self.systemError)
        default: false
        }
    }

    /// Whether the broker has said that it takes no packet so large.
    var isTooLarge: Bool { self.code == MOSQ_ERR_OVERSIZE_PACKET.rawValue }

    /// What happened, in words.
    var text: String {
        switch self.code {
        case MOSQ_ERR_ERRNO.rawValue: Self.systemText(self.systemError)
        case MOSQ_ERR_SUCCESS.rawValue, MOSQ_ERR_CONN_LOST.rawValue: "the broker closed it"
        case MOSQ_ERR_KEEPALIVE.rawValue: "the broker did not answer a ping"
        default: String(cString: mosquitto_strerror(self.code))
        }
    }

    static func systemText(_ error: Int32) -> String {
        switch error {
        case 0: "the broker closed it"
        case EPROTO: "a failure of TLS"
        default: String(cString: strerror(error))
        }
    }

    /// As the refusal of one message or filter.
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
