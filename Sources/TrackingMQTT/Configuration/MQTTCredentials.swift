/// A user name and a password. Printing it never shows the password.
public struct MQTTCredentials: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The user name.
    public var username: String
    /// The password; `nil` when there is none, as with a client certificate.
    public var password: String?

    /// Makes credentials.
    public init(username: String, password: String?) {
        self.username = username
        self.password = password
    }

    /// The user name, and whether there is a password.
    public var description: String { "\(self.username)\(self.password == nil ? "" : ":<password>")" }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror without the password.
    public var customMirror: Mirror { Mirror(self, children: ["username": self.username]) }
}
