/// The user name and password with which a client signs in at a broker. The description of the credentials contains
/// neither.
public struct MQTTCredentials: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The user name with which the client signs in at the broker.
    public var user: String
    /// The password that belongs to the user name; `nil` for none.
    public var password: String?

    /// Creates credentials from a user name and a password; `nil` for no password.
    public init(user: String, password: String?) {
        self.user = user
        self.password = password
    }

    /// The description of the credentials: a fixed text that contains neither the user name nor the password.
    public var description: String { "(credentials)" }
    /// The debug description of the credentials: a fixed text that contains neither the user name nor the password.
    public var debugDescription: String { self.description }
}

extension MQTTCredentials: CustomReflectable {
    /// A mirror without children, so that no dump shows the credentials.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
