public import TrackingCore

/// The set-up link of the Overland app, `overland://setup?url=…&token=…`: it names a gateway, and the gateway tells a Godwit
/// agent with that token its broker, user and trackable.
///
/// Its other parameters (`device_id`, `unique_id` …) are about the app's batches and mean nothing to an agent. Printing it does
/// not show the token.
public struct OverlandLink: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Where the gateway takes batches, and answers an agent: `http[s]://…`.
    public let url: String
    /// What the agent shows there, and its password at the broker.
    public let token: String

    private static let form = "Overland's set-up link is overland://setup?url=…&token=…"

    /// Whether a link is one of Overland's.
    public static func isOne(_ link: String) -> Bool { link.hasPrefix("overland:") }

    /// Reads a link.
    ///
    /// - Throws: `invalidConfiguration` that says what is wrong, without the token.
    public init(link: String) throws(TrackingError) {
        let values = try SetupLink.values(of: link, scheme: "overland", form: Self.form) { _ in true }
        guard let url = values["url"], let token = values["token"] else {
            throw TrackingError(
                .invalidConfiguration, "\(Self.form); this one has no \(values["url"] == nil ? "url" : "token")")
        }
        let isURL = url.hasPrefix("https://") || url.hasPrefix("http://")
        guard isURL, !url.contains("@"), url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw TrackingError(.invalidConfiguration, "the link's url is http[s]://host[:port]/path")
        }
        guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw TrackingError(
                .invalidConfiguration, "the link's token is letters, digits and signs without white space")
        }
        self.url = url
        self.token = token
    }

    /// What the gateway's answer sets up.
    ///
    /// - Throws: `invalidPayload` for what is no answer of a gateway, `invalidConfiguration` where it lacks what an agent
    ///   needs, or holds what cannot be.
    public func request(answer: some Collection<UInt8>) throws(TrackingError) -> SetupRequest {
        guard let members = try? JSONValue(json: answer), members.object != nil else {
            throw TrackingError(.invalidPayload, "what answers at the link's url is no gateway")
        }
        guard let trackable = members["trackable"]?.text, let user = members["user"]?.text else {
            throw TrackingError(
                .invalidConfiguration, "the gateway does not know the link's token as one that publishes one trackable")
        }
        guard let broker = members["broker"]?.text else {
            throw TrackingError(
                .invalidConfiguration, "the gateway does not tell agents a broker: it runs without --agent-broker")
        }
        return try SetupRequest(broker: broker, user: user, token: self.token, trackable: trackable)
    }

    /// Names what it is.
    public var description: String { "set-up link of Overland" }
    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
