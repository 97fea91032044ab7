/// A user name and a password. Its description contains neither.
public struct MQTTCredentials: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The user name.
    public var user: String
    /// The password; `nil` for none.
    public var password: String?

    /// Creates credentials.
    public init(user: String, password: String?) {
        self.user = user
        self.password = password
    }

    /// A fixed text that contains neither the user name nor the password.
    public var description: String { "(credentials)" }
    /// A fixed text that contains neither the user name nor the password.
    public var debugDescription: String { self.description }
}

extension MQTTCredentials: CustomReflectable {
    /// A mirror without children, so that no dump shows the credentials.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
