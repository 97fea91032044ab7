import CMosquitto

extension MQTTConfiguration {
    /// The files of an encrypted connection, all in PEM format. The broker's host name is always checked.
    ///
    /// The files are read for each attempt to connect, so that a renewed certificate is used without a restart.
    public struct TLS: Hashable, Sendable {
        /// The path of the file with trusted certificate authorities; `nil` for the authorities that the system trusts.
        public var authorities: String?
        /// The path of the file with this client's certificate, followed by the intermediate certificates up to its
        /// authority. `nil` if the client identifies itself otherwise.
        public var certificate: String?
        /// The path of the file with the private key of ``certificate``, which must have no passphrase.
        public var key: String?

        /// Creates the TLS settings from the paths of the files. A certificate requires a key, and a key requires a
        /// certificate.
        public init(authorities: String? = nil, certificate: String? = nil, key: String? = nil) {
            self.authorities = authorities
            self.certificate = certificate
            self.key = key
        }

        /// Returns the common name (CN) of the first certificate in a PEM file, up to 255 bytes; `nil` if there is
        /// none. Brokers that identify clients by certificate use the common name as the user name.
        public static func commonName(ofCertificate path: String) -> String? {
            var buffer = [CChar](repeating: 0, count: 256)
            let length = godwit_tls_common_name(path, &buffer, Int32(buffer.count))
            guard length > 0 else { return nil }
            return String(validating: buffer.prefix(Int(length)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }
}
