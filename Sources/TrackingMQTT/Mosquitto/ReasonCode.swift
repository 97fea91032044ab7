import CMosquitto
import TrackingCore

/// The conversion of MQTT 5's reason codes to errors.
enum ReasonCode {
    /// The MQTT 5 reason code in a PUBACK: the broker accepted the message, and no client has subscribed to its topic.
    static let noMatchingSubscribers: Int32 = 0x10

    /// The MQTT 5 reason code for a connection that ends because of a malformed packet.
    static let malformedPacket: UInt8 = 0x81

    /// Returns `true` if the broker may have closed the connection because of a packet that this client sent. This is
    /// so for a close without an error code (below 0x80), and for codes such as "not authorized" or "topic name
    /// invalid". It is not so for codes such as "server busy".
    static func mayBeAnAnswer(_ code: Int32) -> Bool {
        code < 0x80 || [0x80, 0x81, 0x82, 0x83, 0x87, 0x8F, 0x90, 0x95, 0x99, 0x9A].contains(code)
    }

    /// Returns the error for a CONNACK with a refusal. The refusal codes of MQTT 3.1.1 (1 to 5) are first translated to
    /// the MQTT 5 codes. A refusal after which a later attempt may succeed becomes `brokerUnreachable`.
    static func connectionRefused(_ code: Int32, version: ConnectionStateMachine.Version) -> TrackingError {
        let reason: UInt8 =
            switch (version, code) {
            case (.v311, 1): 0x84
            case (.v311, 2): 0x85
            case (.v311, 3): 0x88
            case (.v311, 4): 0x86
            case (.v311, 5): 0x87
            default: UInt8(truncatingIfNeeded: code)
            }
        let error = self.error(reason, "the broker refused the connection")
        return self.passes(reason) ? TrackingError(.brokerUnreachable, error.message, reasonCode: reason) : error
    }

    /// Returns `true` for a reason code of a refused connection after which a later attempt may succeed, for example
    /// because the broker was busy or unavailable.
    private static func passes(_ reason: UInt8) -> Bool {
        [0x80, 0x83, 0x88, 0x89, 0x97, 0x9C, 0x9D, 0x9F].contains(reason)
    }

    /// Returns the error for the code of a PUBACK or SUBACK; `nil` for a code below 0x80, which is no refusal. `what`
    /// names the refused message or subscription in the error's text.
    static func refusal(_ code: Int32, of what: String) -> TrackingError? {
        code < 0x80 ? nil : self.error(UInt8(truncatingIfNeeded: code), "the broker refused \(what)")
    }

    /// Returns the error for the reason code of a DISCONNECT that the broker sent.
    static func disconnected(_ code: Int32) -> TrackingError {
        let reason = UInt8(truncatingIfNeeded: code)
        switch reason {
        case 0x8E:
            return TrackingError(
                .takenOver,
                "the broker ended the connection: another program connected with the same client id. Give each program its own client id",
                reasonCode: reason)
        case 0x87:
            return self.error(reason, "the broker ended the connection")
        default:
            return TrackingError(
                .connectionLost, "the broker ended the connection: \(self.text(reason))", reasonCode: reason)
        }
    }

    private static func error(_ reason: UInt8, _ what: String) -> TrackingError {
        let code: TrackingError.Code =
            switch reason {
            case 0x86: .badCredentials
            case 0x87: .notAuthorized
            default: .refused
            }
        let remedy =
            switch reason {
            case 0x86: ". Correct the user, the password or the certificate"
            case 0x87: ". Give this user the right at the broker"
            default: ""
            }
        return TrackingError(code, "\(what): \(self.text(reason))\(remedy)", reasonCode: reason)
    }

    private static func text(_ reason: UInt8) -> String {
        let text = String(cString: mosquitto_reason_string(Int32(reason)))
        return "\(text) (0x\(String(reason, radix: 16, uppercase: true)))"
    }
}
