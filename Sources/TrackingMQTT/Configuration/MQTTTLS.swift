/// The files of an encrypted connection. The broker's host name is always checked.
///
/// They are read anew for each attempt to connect, so that a renewed certificate is used without a restart.
public struct MQTTTLS: Hashable, Sendable {
    /// A PEM file of the authorities to trust; what the system trusts when `nil`.
    public var authorityFile: String?
    /// A PEM file of this client's certificate and those between it and its authority.
    public var certificateFile: String?
    /// A PEM file of the certificate's key, without a passphrase.
    public var keyFile: String?

    /// Makes the settings; certificate and key come together or not at all.
    public init(authorityFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil) {
        self.authorityFile = authorityFile
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
