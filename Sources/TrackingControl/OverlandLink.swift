public import TrackingCore

/// The set-up link of the Overland app, `overland://setup?url=…&token=…`. It names a gateway. The gateway answers an
/// agent that presents the token with its broker, user and trackable.
///
/// Other parameters (`device_id`, `unique_id` …) concern the app's batches and have no meaning for an agent. The
/// description does not contain the token.
public struct OverlandLink: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The gateway's URL for batches and for agents: `http[s]://…`.
    public let url: String
    /// The token that the agent presents to the gateway, which is also its password at the broker.
    public let token: String

    private static let form = "Overland's set-up link is overland://setup?url=…&token=…"

    /// Returns `true` for a link of Overland.
    public static func isOne(_ link: String) -> Bool { link.hasPrefix("overland:") }

    /// Parses a link.
    ///
    /// - Throws: `invalidConfiguration` with the reason, without the token.
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

    /// Returns the set-up request that the gateway's answer contains.
    ///
    /// - Throws: `invalidPayload` for anything but a gateway's answer; `invalidConfiguration` for an answer with
    ///   missing or invalid values.
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

    /// A fixed text without the token.
    public var description: String { "set-up link of Overland" }
    /// A mirror without children, so that no dump shows the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
