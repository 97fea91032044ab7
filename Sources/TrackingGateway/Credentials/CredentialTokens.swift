package import TrackingCore
import TrackingCrypto

/// Issues JSON Web Tokens (RFC 7519) whose scopes are the rights of one app, signed with HS256.
///
/// The scopes have the form of RabbitMQ's OAuth 2 plugin, for the virtual host `/` and the resource server `rabbitmq`.
/// The claim `acl` has the same rights in the form of EMQX.
package struct CredentialTokens: Sendable {
    /// The id of the key in the header of each token.
    package static let keyID = "godwit"
    /// The least and the largest size of a key in bytes.
    package static let keyBytes = 32...1024
    private static let exchange = "%2F/amq.topic"

    private let key: [UInt8]
    /// The management of the broker, which closes connections; `nil` to let connections continue after the end of
    /// their token.
    let management: BrokerManagement?

    /// Creates an issuer of tokens.
    ///
    /// - Parameters:
    ///   - key: The secret that the broker has too, of 32 to 1,024 bytes.
    ///   - management: The management of the broker, which closes connections.
    /// - Throws: `invalidConfiguration` for a key that is too short or too long.
    package init(key: [UInt8], management: BrokerManagement?) throws(TrackingError) {
        guard Self.keyBytes.contains(key.count) else {
            throw TrackingError(
                .invalidConfiguration,
                "the key for tokens must have 32 to 1024 bytes; this one has \(key.count). Make one with: openssl rand -hex 32"
            )
        }
        self.key = key
        self.management = management
    }

    /// Returns the token of an app.
    ///
    /// - Throws: `payloadTooLarge` if the trackables have names so long that the token has too many bytes.
    func token(_ grants: WatcherGrants, begins: UnixTime, ends: UnixTime) throws(TrackingError) -> String {
        let header = JSONValue.object(["alg": .text("HS256"), "kid": .text(Self.keyID), "typ": .text("JWT")])
        let id = JSONValue.text(grants.client.description)
        let payload = Base64URL.text(
            JSONValue.object([
                "sub": id, "jti": id, "aud": .list([.text("rabbitmq")]), "exp": .number(ends.seconds),
                "iat": .number(begins.seconds.rounded(.down)),
                "scope": .list(Self.scopes(of: grants).map { .text($0) }),
                "acl": .object([
                    "sub": .list(grants.reads.map { .text($0) }), "pub": .list(grants.writes.map { .text($0) }),
                ]),
            ]).json)
        guard payload.utf8.count <= JSONWebToken.maximumBytes else {
            throw TrackingError(
                .payloadTooLarge,
                "cannot issue a token of \(payload.utf8.count) bytes: at most \(JSONWebToken.maximumBytes) are allowed. Issue several credentials with fewer trackables"
            )
        }
        let text = "\(Base64URL.text(header.json)).\(payload)"
        let signature = SHA256.authenticationCode(for: Array(text.utf8), key: self.key)
        return "\(text).\(Base64URL.text(signature))"
    }

    /// The rights as scopes of RabbitMQ: those of the topics, as patterns of routing keys, and those of the queues that
    /// RabbitMQ makes for the subscriptions of this client id.
    static func scopes(of grants: WatcherGrants) -> [String] {
        let queue = "%2F/mqtt-subscription-\(grants.client)qos*"
        return ["configure", "read", "write"].map { "rabbitmq.\($0):\(queue)" }
            + grants.reads.map { "rabbitmq.read:\(self.exchange)/\(self.routingKey($0))" }
            + grants.writes.map { "rabbitmq.write:\(self.exchange)/\(self.routingKey($0))" }
    }

    /// The routing key of RabbitMQ for an MQTT topic filter.
    private static func routingKey(_ filter: String) -> String {
        String(filter.map { $0 == "/" ? "." : $0 == "+" ? "*" : $0 })
    }
}
