public import TrackingCore

/// A group of recorders that share the broker's messages, each message going to one of them, and acknowledge under one
/// name.
///
/// The name is public: every client that reads acknowledgements sees it. The secret is the name of the MQTT shared
/// subscription (`$share/SECRET/…`). A client that knows the secret can join the subscription and take messages away
/// from the group.
public struct RecorderGroup: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The name under which all recorders of the group acknowledge records.
    public let name: ClientID
    private let secret: String

    /// The smallest number of characters in the secret of a recorder group.
    public static let minimumSecretLength = 16

    /// Creates a group of recorders.
    ///
    /// - Parameters:
    ///   - name: The name under which the group acknowledges records.
    ///   - secret: The name of the shared subscription, the same for all recorders of the group: 16 to 64 characters of
    ///     `A-Z a-z 0-9 _ -`, different from `name`.
    /// - Throws: `invalidConfiguration` for a secret that breaks one of these rules. The error's message does not
    ///   contain the secret.
    public init(name: ClientID, secret: String) throws(TrackingError) {
        let isValid = (try? ClientID(secret)) != nil && secret.utf8.count >= Self.minimumSecretLength
        guard isValid, secret != name.rawValue else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot use the share secret of the recorder group: the share secret must have \(Self.minimumSecretLength) to 64 characters of A-Z a-z 0-9 _ - and differ from the group's name; this one has \(secret.utf8.count) bytes. Make one with: openssl rand -hex 16"
            )
        }
        self.name = name
        self.secret = secret
    }

    /// Returns the group's shared subscription of a topic filter: `$share/SECRET/FILTER`.
    func shared(_ filter: String) -> String { self.prefix + filter }

    /// Returns a topic filter of the group without the prefix that contains the secret, for logs and errors.
    func withoutSecret(_ filter: String) -> String {
        filter.hasPrefix(self.prefix) ? String(filter.dropFirst(self.prefix.count)) : filter
    }

    private var prefix: String { "$share/\(self.secret)/" }

    /// The name of the group, without the secret.
    public var description: String { self.name.rawValue }

    /// A mirror with the name of the group only. A mirror is the view of a value that `dump` and debuggers show, so
    /// they do not show the secret.
    public var customMirror: Mirror { Mirror(self, children: ["name": self.name]) }
}
