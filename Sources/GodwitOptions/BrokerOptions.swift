public import ArgumentParser
import FoundationEssentials
import Logging
public import TrackingCore
public import TrackingMQTT

/// The options for the broker connection, the configuration file and the log level. Every command with a connection has
/// them.
public struct BrokerOptions: ParsableArguments, Sendable {
    /// The broker's addresses, tried in turn.
    @Option(
        help: ArgumentHelp(
            "Connect to this broker: mqtt[s]://[user[:password]@]host[:port]. Repeat the option for further addresses of the same broker. Default: mqtt://127.0.0.1:1883; port 1883, with mqtts 8883.",
            valueName: "url"))
    public var broker: [String] = []

    /// The path of a file whose first line is the password.
    @Option(help: ArgumentHelp("Read the password from the first line of this file.", valueName: "path"))
    public var passwordFile: String?

    /// The password, for the environment and the configuration file. It has no place in a list of processes or in
    /// `--help`.
    @Option(
        help: ArgumentHelp("The password. Give it as GODWIT_PASSWORD, not on the command line.", visibility: .private))
    public var password: String?

    /// The client id; `nil` derives it from the user, the certificate or a random number.
    @Option(
        help: ArgumentHelp(
            "Connect with this client id: 1 to 64 of A-Z a-z 0-9 _ -. Default: the user name; without a user, the name (CN) in --cert; else recorder, gateway or bridge for these programs and a random id for all others. A second recorder, gateway or bridge needs its own.",
            valueName: "id"))
    public var clientID: String?

    /// The first levels of every topic.
    @Option(help: ArgumentHelp("Put these 1 to 4 levels before every topic.", valueName: "levels", visibility: .hidden))
    public var topicRoot = "tracking"

    /// The path of the certificates of the authorities to trust.
    @Option(
        name: .customLong("ca"),
        help: ArgumentHelp(
            "Trust the authorities in this PEM file for mqtts. Default: those of the system.", valueName: "path"))
    public var authorities: String?

    /// The path of the client certificate.
    @Option(
        name: .customLong("cert"),
        help: ArgumentHelp("Sign in with this client certificate, PEM.", valueName: "path", visibility: .hidden))
    public var certificate: String?

    /// The path of the client certificate's private key.
    @Option(
        name: .customLong("key"),
        help: ArgumentHelp("Use this private key of --cert, PEM.", valueName: "path", visibility: .hidden))
    public var key: String?

    /// `true` to end when the broker cannot be reached, instead of trying again.
    @Flag(help: "End when the broker cannot be reached (exit code 69) or refuses (77), instead of trying again.")
    public var failFast = false

    /// The path of the configuration file.
    @Option(
        help: ArgumentHelp(
            "Read options from this YAML file, by their long names. The command line wins over the environment (GODWIT_BROKER for --broker), which wins over the file.",
            valueName: "path"))
    public var config: String?

    /// The lowest level that is logged.
    @Option(
        help: ArgumentHelp(
            "Log messages from this level on to standard error: error, warning, info, debug or trace.",
            valueName: "level"))
    public var logLevel = "warning"

    /// Creates the options with their defaults; the parser sets the values.
    public init() {}

    /// The path of the configuration file, given by the option or the environment.
    public var configurationFile: String? {
        self.config ?? LayeredArguments.value(of: "config", in: ProcessInfo.processInfo.environment)
    }

    /// Checks the values without reading a file or opening a connection.
    ///
    /// - Throws: `ValidationError` that names the option and the rule.
    public func validate() throws {
        guard Logger.Level(rawValue: self.logLevel) != nil else {
            throw ValidationError("--log-level must be error, warning, info, debug or trace, not '\(self.logLevel)'")
        }
        do throws(TrackingError) {
            _ = try TopicRoot(self.topicRoot)
            if let clientID = self.clientID { _ = try ClientID(clientID) }
            _ = try self.user
        } catch {
            throw ValidationError(error.message)
        }
    }
}

/// The names of one run of a program at the broker.
public struct Identity: Sendable {
    /// The client id of the connection.
    public let client: ClientID
    /// The id of this run.
    public let session: SessionID
    /// `true` if the client id was made for this run alone.
    public let isRandom: Bool
}

extension BrokerOptions {
    /// The broker's addresses, without user and password.
    ///
    /// - Throws: `invalidConfiguration` that names the broken rule.
    public var addresses: [MQTTEndpoint] {
        get throws(TrackingError) { try self.endpoints.map(\.0) }
    }

    /// The broker's addresses, each with the credentials written in it.
    private var endpoints: [(MQTTEndpoint, MQTTCredentials?)] {
        get throws(TrackingError) {
            let urls = self.broker.isEmpty ? ["mqtt://127.0.0.1:1883"] : self.broker
            return try urls.map { (url) throws(TrackingError) in try MQTTEndpoint.parse(url) }
        }
    }

    /// The one user of all addresses, with the password if an address has one; `nil` without a user.
    ///
    /// - Throws: `invalidConfiguration` if the addresses name several users, or if `--password` is given without a
    ///   user.
    public var user: MQTTCredentials? {
        get throws(TrackingError) {
            let named = try self.endpoints.compactMap(\.1)
            guard Set(named).count < 2 else {
                throw TrackingError(
                    .invalidConfiguration,
                    "--broker: the addresses name different users or passwords. Several addresses lead to one broker: give all of them the same user"
                )
            }
            if named.isEmpty, self.password?.isEmpty == false { throw Self.passwordWithoutUser }
            return named.first
        }
    }

    private static var passwordWithoutUser: TrackingError {
        TrackingError(
            .invalidConfiguration,
            "a password is given without a user. Name the user in the broker's address: mqtts://user@host")
    }

    /// The names of this run. The client id is the first of these that is a valid id: `--client-id`, the user name, the
    /// name (CN) in the client certificate, a random one.
    ///
    /// - Throws: `invalidName` that names the broken rule.
    public func identity() throws(TrackingError) -> Identity {
        var generator = SystemRandomNumberGenerator()
        let session = SessionID.random(using: &generator)
        if let clientID = self.clientID {
            return Identity(client: try ClientID(clientID), session: session, isRandom: false)
        }
        if let user = try self.endpoints.first?.1?.user, let client = try? ClientID(user) {
            return Identity(client: client, session: session, isRandom: false)
        }
        if let path = self.certificate, let name = MQTTConfiguration.TLS.commonName(ofCertificate: path),
            let client = try? ClientID(name)
        {
            return Identity(client: client, session: session, isRandom: false)
        }
        return Identity(client: try ClientID("godwit-\(session)"), session: session, isRandom: true)
    }

    /// Makes the connection of a publisher, subscriber or recorder. The broker announces the end of this connection to
    /// others.
    ///
    /// - Parameters:
    ///   - user: The user to sign in as, with the password of `--broker`; `nil` for the user of `--broker`.
    ///   - remedy: A sentence for the error when another connection has the same client id; see
    ///     ``sharedUserRemedy(_:)``.
    /// - Throws: `invalidConfiguration`; `inputUnreadable` if the password file cannot be read.
    public func transport(
        for member: some MemberConfiguration, user: String? = nil, remedy: String? = nil
    ) throws(TrackingError) -> MQTTTransport {
        var base = MQTTConfiguration(endpoints: try self.endpoints.map(\.0), for: member)
        base.takeoverRemedy = remedy
        return try MQTTTransport(configuration: self.completed(base, as: user))
    }

    /// Makes a connection without a presence: the broker announces nothing when this connection ends.
    ///
    /// - Throws: `invalidConfiguration`; `inputUnreadable` if the password file cannot be read.
    public func transport(_ identity: Identity) throws(TrackingError) -> MQTTTransport {
        try self.transport(identity.client, user: nil)
    }

    /// Makes a connection without a presence under its own client id.
    ///
    /// - Parameters:
    ///   - user: The user to sign in as, with the password of `--broker`; `nil` for the user of `--broker`.
    ///   - remedy: A sentence for the error when another connection has the same client id; see
    ///     ``sharedUserRemedy(_:)``.
    /// - Throws: `invalidConfiguration`; `inputUnreadable` if the password file cannot be read.
    public func transport(
        _ client: ClientID, user: String?, remedy: String? = nil
    ) throws(TrackingError) -> MQTTTransport {
        var base = MQTTConfiguration(endpoints: try self.endpoints.map(\.0), client: client)
        base.takeoverRemedy = remedy
        return try MQTTTransport(configuration: self.completed(base, as: user))
    }

    /// Makes the connection on which a recorder receives. The recorder acknowledges each message itself, and the broker
    /// keeps the session for seven days.
    ///
    /// - Parameters:
    ///   - client: The client id, by which the broker finds the session.
    ///   - receiveMaximum: The most messages that the broker sends before an acknowledgement, 1 to 65,535.
    ///   - user: The user to sign in as, with the password of `--broker`; `nil` for the user of `--broker`.
    ///   - certificate: The certificate in place of `--cert`; `nil` for `--cert`.
    ///   - key: The key in place of `--key`; `nil` for `--key`.
    ///   - remedy: A sentence for the error when another connection has the same client id; see
    ///     ``sharedUserRemedy(_:)``.
    /// - Throws: `invalidConfiguration`; `inputUnreadable` if the password file cannot be read.
    public func intake(
        _ client: ClientID, receiveMaximum: Int, user: String?, certificate: String?, key: String?,
        remedy: String? = nil
    ) throws(TrackingError) -> MQTTTransport {
        var configuration = MQTTConfiguration(endpoints: try self.endpoints.map(\.0), client: client)
        configuration.takeoverRemedy = remedy
        configuration.session = .kept(for: .seconds(7 * 86_400))
        configuration.receiveMaximum = receiveMaximum
        configuration.withholdsAcknowledgements = true
        configuration.limits.waitingEvents = max(64, 2 * receiveMaximum)
        configuration.tls.certificate = certificate
        configuration.tls.key = key
        return try MQTTTransport(configuration: self.completed(configuration, as: user))
    }

    /// Returns advice for connections of one program that end each other: they share one user, and the broker uses the
    /// user name as the client id.
    ///
    /// - Parameter option: The option that gives each connection its own user, with its value.
    /// - Returns: A sentence; `nil` if the connections have neither a user nor a certificate.
    public func sharedUserRemedy(_ option: String) -> String? {
        guard let name = try? self.user?.user ?? self.certificate.map({ "the certificate \($0)" }) else { return nil }
        return """
            The connections of this program share one user (\(name)): where the broker uses the user name as the client \
            id, as with the files of broker/, each connection ends the other. Give \(option)
            """
    }

    /// Makes a client for single calls, such as a publish that waits for its acknowledgement.
    ///
    /// - Throws: `invalidConfiguration`; `inputUnreadable` if the password file cannot be read.
    public func client(_ identity: Identity) throws(TrackingError) -> MQTTClient {
        let base = MQTTConfiguration(endpoints: try self.endpoints.map(\.0), client: identity.client)
        return try MQTTClient(configuration: self.completed(base))
    }

    /// Adds the credentials, the certificates and the logger.
    private func completed(_ base: MQTTConfiguration, as user: String? = nil) throws(TrackingError) -> MQTTConfiguration
    {
        guard (self.certificate == nil) == (self.key == nil) else {
            let missing = self.key == nil ? "--key" : "--cert"
            throw TrackingError(
                .invalidConfiguration, "\(missing) is missing: --cert and --key must be given together")
        }
        var configuration = base
        configuration.logger = Logger(label: "godwit.mqtt")
        configuration.credentials = try self.login()
        if let user { configuration.credentials?.user = user }
        configuration.tls = .init(
            authorities: self.authorities, certificate: base.tls.certificate ?? self.certificate,
            key: base.tls.key ?? self.key)
        return configuration
    }

    /// The user and the password: from the address, else from the password file, else from the environment.
    ///
    /// - Throws: `invalidConfiguration`; `inputUnreadable` if the password file cannot be read.
    public func login() throws(TrackingError) -> MQTTCredentials? {
        guard var login = try self.user else {
            guard try self.filedPassword() == nil else { throw Self.passwordWithoutUser }
            return nil
        }
        if login.password == nil { login.password = try self.filedPassword() ?? self.password }
        return login
    }

    /// The password in the password file; `nil` for an empty file, which systemd provides where no credential is set.
    private func filedPassword() throws(TrackingError) -> String? {
        guard let path = self.passwordFile else { return nil }
        let password = try SecretFile.read(path, "password file")
        return password.isEmpty ? nil : password
    }
}

/// Files whose first line is a secret.
public enum SecretFile {
    /// Returns the first line of a file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - what: The description of the file in the error, such as "password file".
    /// - Throws: `inputUnreadable` that names the file.
    public static func read(_ path: String, _ what: String) throws(TrackingError) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw TrackingError(
                .inputUnreadable, "cannot read the \(what) '\(path)'. Check the path and its permissions")
        }
        let line = data.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        return String(decoding: line, as: UTF8.self)
    }
}
