import CMosquitto
import SystemLibrary
import TrackingCore

/// The certificates and the host name of one attempt to connect, in OpenSSL's form.
///
/// `@unchecked`: the pointer never changes, and OpenSSL counts the references to its object atomically.
final class TLSContext: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    /// Reads the certificate files, which may take tens of milliseconds.
    ///
    /// - Parameters:
    ///   - files: The paths of the files.
    ///   - host: The name that the broker's certificate must contain.
    /// - Throws: `tlsFailed` with the name of the file, or with the host name, that cannot be used.
    init(_ files: MQTTConfiguration.TLS, host: String) throws(TrackingError) {
        var fault: Int32 = 0
        let pointer = godwit_tls_context(files.authorities, files.certificate, files.key, host, &fault)
        guard let pointer else {
            let reason = Self.lastError()
            let what =
                switch fault {
                case 0: "the authorities in \(files.authorities ?? "the system's store")"
                case 1: "the certificate in \(files.certificate ?? "")"
                case 2: "the key in \(files.key ?? "")"
                default: "the host name '\(host)'"
                }
            throw TrackingError(.tlsFailed, "cannot use \(what) for TLS: \(reason). Check the file")
        }
        self.pointer = pointer
    }

    deinit { godwit_tls_context_free(self.pointer) }

    /// Returns the reason for which the broker's certificate was rejected. `nil` if it was accepted, or if none was
    /// received.
    func verificationError(host: String) -> TrackingError? {
        let result = godwit_tls_verify_result(self.pointer)
        let text = String(cString: godwit_tls_verify_message(result))
        switch Int32(truncatingIfNeeded: result) {
        case X509_V_OK:
            return nil
        case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID:
            return TrackingError(
                .certificateExpired,
                "the certificate of \(host) is not valid now: \(text). Renew it, or set this device's clock")
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            return TrackingError(
                .certificateHostMismatch,
                "the broker's certificate was not issued for \(host): \(text). Connect by a name in it")
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
            return TrackingError(
                .certificateUnknownAuthority,
                """
                the certificate of \(host) was signed by an authority that is not trusted: \(text). \
                Name the authority's certificate file in the TLS settings (--ca)
                """)
        default:
            return TrackingError(
                .tlsFailed, "the certificate of \(host) was rejected: \(text). Check the broker's certificate")
        }
    }

    static func lastError() -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        godwit_tls_error(&buffer, buffer.count)
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// The TLS session of one connection. Only the event loop's thread may use it.
final class TLSConnection {
    private let pointer: UnsafeMutableRawPointer

    init(_ pointer: UnsafeMutableRawPointer) {
        godwit_tls_retain(pointer)
        self.pointer = pointer
    }

    deinit { godwit_tls_release(self.pointer) }

    var isEstablished: Bool { godwit_tls_is_established(self.pointer) }
    var wantsWrite: Bool { godwit_tls_wants_write(self.pointer) }
    var hasPending: Bool { godwit_tls_has_pending(self.pointer) }
    /// `true` if reading may take bytes from the network; `false` if it may only return bytes that were already
    /// decrypted.
    var isGateOpen = true {
        didSet { godwit_tls_set_gate(self.pointer, self.isGateOpen) }
    }

    /// The result of looking at the next TLS record before libmosquitto reads it. The decrypted bytes stay in the TLS
    /// layer, so libmosquitto reads the same bytes afterwards.
    enum Peek {
        case bytes(Int)
        case nothing
        /// The next TLS record does not exist, because the broker closed the TLS session or the connection.
        case closed
        case failed(systemError: Int32, complaint: String?)
    }

    /// Decrypts the next TLS record and copies its bytes to `buffer`, without consuming them. libmosquitto reads the
    /// same bytes afterwards.
    func peek(into buffer: UnsafeMutableRawBufferPointer) -> Peek {
        var error: Int32 = 0
        let count = godwit_tls_peek(self.pointer, buffer.baseAddress, Int32(clamping: buffer.count), &error)
        let systemError = godwit_errno()
        switch error {
        case SSL_ERROR_NONE: return .bytes(Int(count))
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .nothing
        case SSL_ERROR_ZERO_RETURN: return .closed
        case SSL_ERROR_SYSCALL where systemError == ECONNRESET || systemError == 0: return .closed
        default:
            let complaint = TLSContext.lastError()
            return .failed(systemError: EPROTO, complaint: complaint.isEmpty ? nil : complaint)
        }
    }
}
