import TrackingCore

/// Makes the credentials of apps valid at a broker, and withdraws them.
package enum CredentialIssuer: Sendable {
    /// The issuer for Mosquitto with its dynamic security plugin.
    case dynamicSecurity(DynamicSecurity)
    /// The issuer for a broker that accepts JSON Web Tokens.
    case tokens(CredentialTokens)

    /// The way in which the broker checks the credentials.
    package var kind: AppCredential.Kind {
        switch self {
        case .dynamicSecurity: .dynamicSecurity
        case .tokens: .token
        }
    }

    /// Makes a credential valid at the broker.
    ///
    /// - Returns: The password of the credential.
    /// - Throws: `notAuthorized` if the broker rejects the credential; `brokerUnreachable`; `payloadTooLarge` for a
    ///   token with too many bytes.
    func issue(_ credential: AppCredential, root: TopicRoot) async throws(TrackingError) -> String {
        let grants = WatcherGrants(of: credential.id, watching: credential.reads, root: root)
        switch self {
        case .tokens(let tokens):
            return try tokens.token(grants, begins: credential.begins, ends: credential.ends)
        case .dynamicSecurity(let plugin):
            var generator = SystemRandomNumberGenerator()
            let password = Base64URL.text((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
            try await plugin.add(grants, password: password)
            return password
        }
    }

    /// Ends the connections of credentials. With the dynamic security plugin, they are also deleted from the broker.
    ///
    /// - Throws: `notAuthorized` if the broker rejects the request; `brokerUnreachable`.
    func withdraw(_ ids: [ClientID]) async throws(TrackingError) {
        switch self {
        case .dynamicSecurity(let plugin): try await plugin.delete(ids)
        case .tokens(let tokens):
            try await tokens.management?.closeConnections(of: ids)
        }
    }
}
