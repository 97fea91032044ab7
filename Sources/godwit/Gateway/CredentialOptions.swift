import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway

/// The options for issuing credentials to apps: the way in which the broker checks them, and the connection that
/// controls the broker.
struct CredentialOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Issue credentials to apps: dynsec, for Mosquitto with its dynamic security plugin, or jwt, for a broker that accepts JSON Web Tokens. Default: none.",
            valueName: "kind"))
    var credentialIssuer: AppCredential.Kind?

    @Option(
        help: ArgumentHelp(
            "Control the broker at this address. dynsec: mqtt[s]://user@host[:port] of an administrator of the plugin, by default that of --broker. jwt: http[s]://user@host:port of RabbitMQ's management, which closes connections when tokens end, by default none.",
            valueName: "url", visibility: .hidden))
    var credentialControl: String?

    @Option(
        help: ArgumentHelp(
            "Read the password of the user in --credential-control from the first line of this file, anew for each use. Default: that of --broker.",
            valueName: "path", visibility: .hidden))
    var credentialPasswordFile: String?

    @Option(
        help: ArgumentHelp(
            "Sign tokens with the first line of this file, 32 to 1024 bytes, which the broker has too. Only with jwt.",
            valueName: "path", visibility: .hidden))
    var credentialKeyFile: String?

    func validate() throws {
        guard self.credentialIssuer == .token else { return }
        guard self.credentialKeyFile != nil else {
            throw ValidationError("--credential-issuer jwt needs the key of the tokens. Give --credential-key-file")
        }
        if self.credentialControl != nil, self.credentialPasswordFile == nil {
            throw ValidationError(
                "the user in --credential-control needs a password. Give --credential-password-file")
        }
    }

    /// Returns the issuer that these options describe; `nil` without `--credential-issuer`.
    ///
    /// - Parameter broker: The connection to the broker, whose addresses and certificates also serve the control of
    ///   the dynamic security plugin.
    /// - Throws: `invalidConfiguration` for an invalid address or key; `inputUnreadable` for a file that cannot be read.
    func issuer(_ broker: BrokerOptions) throws(TrackingError) -> CredentialIssuer? {
        switch self.credentialIssuer {
        case nil: return nil
        case .dynamicSecurity:
            let connection = DynamicSecurityConnection(options: self.control(broker))
            return .dynamicSecurity(
                DynamicSecurity { (request) async throws(TrackingError) in try await connection.exchange(request) })
        case .token:
            let key = try SecretFile.read(self.credentialKeyFile ?? "", "key file for tokens")
            return .tokens(try CredentialTokens(key: Array(key.utf8), management: try self.management()))
        }
    }

    /// The options of the connection to the dynamic security plugin. It ends with an error when the broker cannot be
    /// reached.
    private func control(_ broker: BrokerOptions) -> BrokerOptions {
        var options = broker
        if let address = self.credentialControl { options.broker = [address] }
        if let path = self.credentialPasswordFile {
            options.passwordFile = path
            (options.password, options.passwordCommand) = (nil, nil)
        }
        return options
    }

    private func management() throws(TrackingError) -> BrokerManagement? {
        guard let address = self.credentialControl, let path = self.credentialPasswordFile else { return nil }
        return try BrokerManagement(address) { () throws(TrackingError) in
            try SecretFile.read(path, "password file of the broker's management")
        }
    }
}

extension AppCredential.Kind: ExpressibleByArgument {}
