import CMosquitto

extension MQTTConfiguration {
    /// The files of an encrypted connection, all PEM. The broker's host name is always checked.
    ///
    /// They are read anew for each attempt to connect, so that a renewed certificate is used without a restart.
    public struct TLS: Hashable, Sendable {
        /// The authorities to trust; what the system trusts when `nil`.
        public var authorities: String?
        /// This client's certificate, followed by those between it and its authority.
        public var certificate: String?
        /// The certificate's key, without a passphrase.
        public var key: String?

        /// Names the files; certificate and key come together or not at all.
        public init(authorities: String? = nil, certificate: String? = nil, key: String? = nil) {
            self.authorities = authorities
            self.certificate = certificate
            self.key = key
        }

        /// The common name (CN) of the first certificate in a PEM file, up to 255 bytes; `nil` where there is none. Brokers
        /// that let in who shows a certificate use it as the user name.
        public static func commonName(ofCertificate path: String) -> String? {
            var buffer = [CChar](repeating: 0, count: 256)
            let length = godwit_tls_common_name(path, &buffer, Int32(buffer.count))
            guard length > 0 else { return nil }
            return String(validating: buffer.prefix(Int(length)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }
}
