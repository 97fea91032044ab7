public import TrackingCore

/// A group of recorders that share the messages of the broker, and acknowledge under one name.
///
/// The name is public: everyone who reads acknowledgements sees it. The secret is the name of the shared subscription
/// (`$share/SECRET/…`). A client that knows it can join the subscription and take messages away from the group.
public struct RecorderGroup: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The name under which the group acknowledges.
    public let name: ClientID
    private let secret: String

    /// The fewest characters of a secret.
    public static let minimumSecretLength = 16

    /// Makes a group.
    ///
    /// - Parameters:
    ///   - name: The name under which the group acknowledges.
    ///   - secret: The name of the shared subscription, the same for all recorders of the group: 16 to 64 characters of
    ///     `A-Z a-z 0-9 _ -`, other than `name`.
    /// - Throws: `invalidConfiguration` for a secret that breaks a rule; the message does not contain it.
    public init(name: ClientID, secret: String) throws(TrackingError) {
        let isValid = (try? ClientID(secret)) != nil && secret.utf8.count >= Self.minimumSecretLength
        guard isValid, secret != name.rawValue else {
            throw TrackingError(
                .invalidConfiguration,
                "the share secret must have \(Self.minimumSecretLength) to 64 characters of A-Z a-z 0-9 _ - and differ from the group's name; this one has \(secret.utf8.count) bytes. Make one with: openssl rand -hex 16"
            )
        }
        self.name = name
        self.secret = secret
    }

    /// The shared form of a filter.
    func shared(_ filter: String) -> String { self.prefix + filter }

    /// The filter without the secret, for logs and errors.
    func withoutSecret(_ filter: String) -> String {
        filter.hasPrefix(self.prefix) ? String(filter.dropFirst(self.prefix.count)) : filter
    }

    private var prefix: String { "$share/\(self.secret)/" }

    /// The name alone.
    public var description: String { self.name.rawValue }

    /// The name alone, so that no dump shows the secret.
    public var customMirror: Mirror { Mirror(self, children: ["name": self.name]) }
}
