public import ArgumentParser
import FoundationEssentials
import Logging
public import TrackingCore
public import TrackingMQTT

/// The options for the connection to the broker, the configuration file and the log level. Every command that connects
/// to the broker has them.
public struct BrokerOptions: ParsableArguments, Sendable {
    /// The broker's addresses as URLs, tried in turn; empty for `mqtt://127.0.0.1:1883`.
    @Option(
        help: ArgumentHelp(
            "Connect to this broker: mqtt[s]://[user[:password]@]host[:port]. Repeat the option for further addresses of the same broker. Default: mqtt://127.0.0.1:1883; port 1883, with mqtts 8883.",
            valueName: "url"))
    public var broker: [String] = []

    /// The path of a file whose first line is the password at the broker; `nil` for none.
    @Option(help: ArgumentHelp("Read the password from the first line of this file.", valueName: "path"))
    public var passwordFile: String?

    /// The password at the broker, meant for the environment (`GODWIT_PASSWORD`) and the configuration file. `--help`
    /// leaves it out, because every user of the machine can read a program's command line.
    @Option(
        help: ArgumentHelp(
            "Sign in to the broker with this password. Give it as GODWIT_PASSWORD, not on the command line.",
            visibility: .private))
    public var password: String?

    /// The client id at the broker; `nil` derives it from the user name, the client certificate or a random number.
    @Option(
        help: ArgumentHelp(
            "Connect with this client id: 1 to 64 of A-Z a-z 0-9 _ -. Default: the user name; without a user, the name (CN) in --cert; else recorder, gateway or bridge for these programs and a random id for all others. A second recorder, gateway or bridge needs its own.",
            valueName: "id"))
    public var clientID: String?

    /// The one to four levels with which every MQTT topic of the program begins.
    @Option(help: ArgumentHelp("Put these 1 to 4 levels before every topic.", valueName: "levels", visibility: .hidden))
    public var topicRoot = "tracking"

    /// The path of a PEM file with the certificate authorities to trust for `mqtts`; `nil` for those of the system.
    @Option(
        name: .customLong("ca"),
        help: ArgumentHelp(
            "Trust the authorities in this PEM file for mqtts. Default: those of the system.", valueName: "path"))
    public var authorities: String?

    /// The path of the client certificate (PEM) with which the program signs in to the broker; `nil` for none.
    @Option(
        name: .customLong("cert"),
        help: ArgumentHelp("Sign in with this client certificate, PEM.", valueName: "path", visibility: .hidden))
    public var certificate: String?

    /// The path of the private key (PEM) of the client certificate; `nil` for none.
    @Option(
        name: .customLong("key"),
        help: ArgumentHelp("Use this private key of --cert, PEM.", valueName: "path", visibility: .hidden))
    public var key: String?

    /// `true` to end the program when the broker cannot be reached or refuses the connection, instead of trying again.
    @Flag(help: "End when the broker cannot be reached (exit code 69) or refuses (77), instead of trying again.")
    public var failFast = false

    /// The path of the configuration file (YAML) from the command line; `nil` if the command line names none.
    @Option(
        help: ArgumentHelp(
            "Read options from this YAML file, by their long names. The command line wins over the environment (GODWIT_BROKER for --broker), which wins over the file.",
            valueName: "path"))
    public var config: String?

    /// The lowest level of the log messages that the program writes to standard error.
    @Option(
        help: ArgumentHelp(
            "Log messages from this level on to standard error: error, warning, info, debug or trace.",
            valueName: "level"))
    public var logLevel = "warning"

    /// Creates the options with their defaults; the parser sets the values.
    public init() {}

    /// The path of the configuration file, from `--config` or else from `GODWIT_CONFIG`; `nil` if neither names one.
    public var configurationFile: String? {
        self.config ?? LayeredArguments.value(of: "config", in: ProcessInfo.processInfo.environment)
    }

    /// Checks the values of the broker options without reading a file or opening a connection.
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

/// The client id and the session id with which one run of a program connects to the broker.
public struct Identity: Sendable {
    /// The client id of the connection.
    public let client: ClientID
    /// The session id: a random id of this run of the program.
    public let session: SessionID
    /// `true` if the client id is random, so that each run of the program has another one.
    public let isRandom: Bool
}

extension BrokerOptions {
    /// The addresses of the broker from `--broker`, without user and password.
    ///
    /// - Throws: `invalidConfiguration` that names the rule for broker URLs that an address breaks.
    public var addresses: [MQTTEndpoint] {
        get throws(TrackingError) { try self.endpoints.map(\.0) }
    }

    /// The addresses of the broker from `--broker`, each with the user and the password in its URL; `nil` for an
    /// address without a user.
    private var endpoints: [(MQTTEndpoint, MQTTCredentials?)] {
        get throws(TrackingError) {
            let urls = self.broker.isEmpty ? ["mqtt://127.0.0.1:1883"] : self.broker
            return try urls.map { (url) throws(TrackingError) in try MQTTEndpoint.parse(url) }
        }
    }

    /// The user that the addresses of `--broker` name, with the password if an address has one; `nil` if no address
    /// names a user.
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

    /// Returns the client id and a new session id for this run of the program. The client id is the first of these that
    /// is a valid id: `--client-id`, the user name, the name (CN) in the client certificate, a random one.
    ///
    /// - Throws: `invalidName` that names the rule for client ids that `--client-id` breaks; `invalidConfiguration` for
    ///   an invalid address of the broker.
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

    /// Makes the MQTT connection of a publisher, subscriber or recorder. When this connection ends, the broker
    /// announces its end to the other clients.
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

    /// Makes an MQTT connection without a presence: the broker announces nothing to other clients when this connection
    /// ends.
    ///
    /// - Throws: `invalidConfiguration`; `inputUnreadable` if the password file cannot be read.
    public func transport(_ identity: Identity) throws(TrackingError) -> MQTTTransport {
        try self.transport(identity.client, user: nil)
    }

    /// Makes an MQTT connection without a presence, under the given client id.
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

    /// Makes the MQTT connection on which a recorder receives messages. The recorder acknowledges each message itself,
    /// and the broker keeps the session for seven days.
    ///
    /// - Parameters:
    ///   - client: The client id of the recorder, by which the broker finds the session again.
    ///   - receiveMaximum: The largest number of messages, 1 to 65,535, that the broker sends before the recorder
    ///     acknowledges one.
    ///   - user: The user to sign in as, with the password of `--broker`; `nil` for the user of `--broker`.
    ///   - certificate: The path of the client certificate in place of `--cert`; `nil` for `--cert`.
    ///   - key: The path of the private key in place of `--key`; `nil` for `--key`.
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

    /// Returns advice for the case that the connections of one program end each other, because they share one user and
    /// the broker uses the user name as the client id.
    ///
    /// - Parameter option: The option that gives each connection its own user, with its value.
    /// - Returns: A sentence; `nil` if the connections have neither a user nor a certificate.
    public func sharedUserRemedy(_ option: String) -> String? {
        guard let name = try? self.user?.user ?? self.certificate.map({ "the certificate \($0)" }) else { return nil }
        return """
            The connections of this program share one user (\(name)). If the broker uses the user name as the client \
            id, as with the files in broker/, each connection ends the other. Give \(option)
            """
    }

    /// Makes an MQTT client for single calls, such as a publish that waits for the broker's acknowledgement.
    ///
    /// - Throws: `invalidConfiguration`; `inputUnreadable` if the password file cannot be read.
    public func client(_ identity: Identity) throws(TrackingError) -> MQTTClient {
        let base = MQTTConfiguration(endpoints: try self.endpoints.map(\.0), client: identity.client)
        return try MQTTClient(configuration: self.completed(base))
    }

    /// Returns the connection's configuration with the credentials, the certificates and the logger added.
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

    /// Returns the user and the password for the broker; `nil` without a user. The user is that of the address. The
    /// password is that of the address, else that of the password file, else that of `GODWIT_PASSWORD`.
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

    /// Returns the password in the file of `--password-file`; `nil` without the option and for an empty file, which
    /// systemd provides when no credential is set.
    private func filedPassword() throws(TrackingError) -> String? {
        guard let path = self.passwordFile else { return nil }
        let password = try SecretFile.read(path, "password file")
        return password.isEmpty ? nil : password
    }
}

/// Reads files whose first line is a secret, such as a password.
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
