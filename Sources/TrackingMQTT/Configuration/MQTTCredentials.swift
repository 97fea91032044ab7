public import TrackingCore

/// The user name and password with which a client signs in at a broker. The description of the credentials contains
/// neither.
public struct MQTTCredentials: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The user name with which the client signs in at the broker.
    public var user: String
    /// The password that belongs to the user name; `nil` for none.
    public var password: String?
    /// The time at which the broker stops to accept the password. With `nil`, a password that is a JSON Web Token (JWT)
    /// expires at its claim `exp`, and any other password never expires.
    ///
    /// The expiry matters only for credentials of a provider (``MQTTConfiguration/credentialsProvider``): the client
    /// asks the provider for new ones before it.
    public var expiry: UnixTime?

    /// Creates credentials from a user name and a password.
    ///
    /// - Parameters:
    ///   - user: The user name.
    ///   - password: The password; `nil` for none.
    ///   - expiry: The time at which the broker stops to accept the password; `nil` if the password never expires, or
    ///     is a JSON Web Token that contains the time.
    public init(user: String, password: String?, expiry: UnixTime? = nil) {
        self.user = user
        self.password = password
        self.expiry = expiry
    }

    /// The time at which the password expires: ``expiry``, else the claim `exp` of a password that is a JSON Web Token;
    /// `nil` if there is neither.
    var passwordExpiry: UnixTime? {
        self.expiry ?? self.password.flatMap(JSONWebToken.expiry).flatMap { WireLimits.allows($0) ? $0 : nil }
    }

    /// Returns `true` if a client with these credentials signs in as one with the others: the user names and the
    /// passwords are the same.
    func areSame(as other: MQTTCredentials?) -> Bool { self.user == other?.user && self.password == other?.password }

    /// Checks that MQTT can send the user name and the password.
    ///
    /// - Throws: `invalidConfiguration` for more than 65,535 bytes, and for a byte 0.
    func validate() throws(TrackingError) {
        let isValid = [self.user, self.password ?? ""].allSatisfy { $0.utf8.count <= 65_535 && !$0.utf8.contains(0) }
        guard isValid else {
            throw TrackingError(
                .invalidConfiguration,
                "the user name and the password must have at most 65535 bytes, none of them 0")
        }
    }

    /// The description of the credentials: a fixed text that contains neither the user name nor the password.
    public var description: String { "(credentials)" }
    /// The debug description of the credentials: a fixed text that contains neither the user name nor the password.
    public var debugDescription: String { self.description }
}

/// A function that returns the credentials for a client's next connection to the broker. It is called on Swift's default
/// executor. It should return within 15 s; its task is cancelled when its answer is no longer needed.
///
/// If the function throws a `TrackingError`, the attempt to connect fails with that error. Any other error becomes a
/// `TrackingError` with the code `inputUnreadable` and the description of the error, which must not contain credentials.
public typealias MQTTCredentialsProvider = @concurrent @Sendable () async throws -> MQTTCredentials

extension MQTTCredentials: CustomReflectable {
    /// A mirror without children, so that no dump shows the credentials.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
