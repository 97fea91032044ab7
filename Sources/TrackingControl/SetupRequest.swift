public import TrackingCore

/// The values of a set-up link, `godwit://setup?broker=…&user=…&token=…&trackable=…`. A setting without a value in the
/// link remains unchanged at the agent.
///
/// The description of this value does not contain the token.
public struct SetupRequest: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The broker's address, without user and password; `nil` to leave it unchanged.
    public var broker: String?
    /// The user name at the broker; `nil` to leave it unchanged.
    public var user: String?
    /// The token, which becomes the agent's password at the broker; `nil` to leave the password unchanged.
    public var token: String?
    /// The only trackable to track from now on; `nil` to leave the trackables unchanged.
    public var trackable: TrackableID?

    private static let form = "a set-up link has the form godwit://setup?broker=…&user=…&token=…&trackable=…"

    /// Creates the values of a set-up link from texts.
    ///
    /// - Throws: `invalidConfiguration` for an invalid broker, user or token, and if all values are missing;
    ///   `invalidName` for an invalid trackable id. The error does not contain the token.
    public init(broker: String?, user: String?, token: String?, trackable: String?) throws(TrackingError) {
        if let broker {
            guard Self.isBroker(broker) else {
                throw TrackingError(
                    .invalidConfiguration,
                    "the broker in the set-up link must be mqtt[s]://host[:port]. Give the user as user=")
            }
        }
        for (name, text) in [("user", user), ("token", token)] {
            guard let text else { continue }
            let isPlain = !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
            guard isPlain, (1...1024).contains(text.utf8.count) else {
                throw TrackingError(
                    .invalidConfiguration,
                    "the \(name) in the set-up link must have 1 to 1024 bytes without control characters. Ask for a new link"
                )
            }
        }
        self.broker = broker
        self.user = user
        self.token = token
        self.trackable = try trackable.map { (text) throws(TrackingError) in try TrackableID(text) }
        if broker == nil, user == nil, token == nil, trackable == nil {
            throw TrackingError(.invalidConfiguration, "\(Self.form); the given link contains no value")
        }
    }

    /// Returns `true` if a text begins with `mqtt://` or `mqtts://`, contains no `@` (and so no user and password), and
    /// has 8 to 512 bytes. The host and the port are not checked.
    public static func isBroker(_ text: String) -> Bool {
        let isURL = text.hasPrefix("mqtt://") || text.hasPrefix("mqtts://")
        return isURL && !text.contains("@") && (8...512).contains(text.utf8.count)
    }

    /// Parses a set-up link with the scheme `godwit`.
    ///
    /// - Throws: `invalidConfiguration` or `invalidName` with the reason, without the token.
    public init(link: String) throws(TrackingError) {
        let names: Set = ["broker", "user", "token", "trackable"]
        let values = try SetupLink.values(of: link, scheme: "godwit", form: Self.form) { names.contains($0) }
        try self.init(
            broker: values["broker"], user: values["user"], token: values["token"], trackable: values["trackable"])
    }

    /// The values of the link as arguments of the agent's SETUP command. They include the token.
    public var arguments: [String: JSONValue] {
        var arguments: [String: JSONValue] = [:]
        arguments["broker"] = self.broker.map { .text($0) }
        arguments["user"] = self.user.map { .text($0) }
        arguments["token"] = self.token.map { .text($0) }
        arguments["trackable"] = self.trackable.map { .text($0.rawValue) }
        return arguments
    }

    /// The names of the values that the link contains. The values themselves are left out, because one is a secret.
    public var description: String { "set-up of \(self.arguments.keys.sorted().joined(separator: ", "))" }
    /// A mirror without children. A mirror is the view of a value that `dump` and debuggers show, so they do not show
    /// the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
