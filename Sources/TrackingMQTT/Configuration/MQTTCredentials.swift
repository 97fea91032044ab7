/// A user name and a password. Printing it shows neither.
public struct MQTTCredentials: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The user name.
    public var user: String
    /// The password; `nil` when there is none.
    public var password: String?

    /// Makes credentials.
    public init(user: String, password: String?) {
        self.user = user
        self.password = password
    }

    /// Says only that there are credentials.
    public var description: String { "(credentials)" }
    /// Says only that there are credentials.
    public var debugDescription: String { self.description }
}

extension MQTTCredentials: CustomReflectable {
    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
