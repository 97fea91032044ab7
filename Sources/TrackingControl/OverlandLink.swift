public import TrackingCore

/// The set-up link of the Overland app, `overland://setup?url=…&token=…`. It contains the URL of a gateway, a server
/// that also accepts positions over HTTP. An agent presents the token to the gateway, which answers with the broker,
/// the user and the trackable to use.
///
/// Other parameters of the link have no meaning for an agent. The description of this value does not contain the token.
public struct OverlandLink: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The URL of the gateway, `http[s]://…`. The Overland app sends its batches of positions to this URL. An agent
    /// requests its settings (broker, user and trackable) there.
    public let url: String
    /// The token that the agent presents to the gateway. It is also the agent's password at the broker.
    public let token: String

    private static let form = "a set-up link of Overland has the form overland://setup?url=…&token=…"

    /// Returns `true` if a link has the scheme of the Overland app's set-up links, `overland:`.
    public static func isOne(_ link: String) -> Bool { link.hasPrefix("overland:") }

    /// Parses a set-up link of the Overland app.
    ///
    /// - Throws: `invalidConfiguration` with the reason, without the token.
    public init(link: String) throws(TrackingError) {
        let values = try SetupLink.values(of: link, scheme: "overland", form: Self.form) { _ in true }
        guard let url = values["url"], let token = values["token"] else {
            throw TrackingError(
                .invalidConfiguration, "\(Self.form); the given link has no \(values["url"] == nil ? "url" : "token")")
        }
        let isURL = url.hasPrefix("https://") || url.hasPrefix("http://")
        guard isURL, !url.contains("@"), url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw TrackingError(
                .invalidConfiguration,
                "the url in the set-up link must be http[s]://host[:port]/path. Ask for a new link")
        }
        guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw TrackingError(
                .invalidConfiguration,
                "the token in the set-up link must consist of printable ASCII characters without white space. Ask for a new link"
            )
        }
        self.url = url
        self.token = token
    }

    /// Returns the set-up values for an agent: broker, user and trackable from the gateway's answer, and the token of
    /// the link.
    ///
    /// - Throws: `invalidPayload` for an answer that is not a JSON object; `invalidConfiguration` for an answer with a
    ///   missing or invalid value; `invalidName` for an invalid trackable id.
    public func request(answer: some Collection<UInt8>) throws(TrackingError) -> SetupRequest {
        guard let members = try? JSONValue(json: answer), members.object != nil else {
            throw TrackingError(
                .invalidPayload,
                "the server at the url in the set-up link is no gateway: its answer is not a JSON object. Ask for a new link"
            )
        }
        guard let trackable = members["trackable"]?.text, let user = members["user"]?.text else {
            throw TrackingError(
                .invalidConfiguration,
                "the token in the set-up link does not belong to exactly one trackable at the gateway. Ask for a new link"
            )
        }
        guard let broker = members["broker"]?.text else {
            throw TrackingError(
                .invalidConfiguration,
                "the gateway's answer names no broker for agents. Start the gateway with --agent-broker")
        }
        return try SetupRequest(broker: broker, user: user, token: self.token, trackable: trackable)
    }

    /// A fixed text for the set-up link, which does not contain the token.
    public var description: String { "set-up link of Overland" }
    /// A mirror without children, so that `dump` and debuggers do not show the token of the link.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
