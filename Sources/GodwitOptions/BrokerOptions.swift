public import ArgumentParser
import FoundationEssentials
import Logging
public import TrackingCore
public import TrackingMQTT

/// The options of a command that connects to the broker: the connection, the configuration file and the log level.
public struct BrokerOptions: ParsableArguments, Sendable {
    /// The broker's addresses as URLs, tried in turn; empty for `mqtt://127.0.0.1:1883`.
    @Option(
        help: ArgumentHelp(
            "Connect to this broker: mqtt[s]://[user[:password]@]host[:port]. Repeat the option for further addresses of the same broker. Default: mqtt://127.0.0.1:1883; port 1883, with mqtts 8883.",
            valueName: "url"))
    public var broker: [String] = []

    /// The path of a file whose first line is the password at the broker; `nil` for none.
    @Option(
        help: ArgumentHelp(
            "Read the password from the first line of this file, anew before each attempt to connect.",
            valueName: "path"))
    public var passwordFile: String?

    /// The program that prints the password at the broker in its first line; `nil` for none.
    @Option(
        help: ArgumentHelp(
            "Run this program, given with its arguments and without quotes, before each attempt to connect, and use the first line of its output as the password. Not together with another password.",
            valueName: "command", visibility: .hidden))
    public var passwordCommand: PasswordCommand?

    /// The password at the broker. Give it in the environment (`GODWIT_PASSWORD`) or the configuration file, because
    /// every user of the machine can read a command line. For this reason `--help` does not list the option.
    @Option(
        help: ArgumentHelp(
            "Sign in to the broker with this password. Give it as GODWIT_PASSWORD, not on the command line.",
            visibility: .private))
    public var password: String?

    /// The client id for the connection to the broker. With `nil`, it is the user name, else the name (CN) in the
    /// client certificate, else `recorder`, `gateway` or `bridge` for these programs and a random id for all others.
    @Option(
        help: ArgumentHelp(
            "Connect with this client id: 1 to 64 of A-Z a-z 0-9 _ -. Default: the user name; without a user, the name (CN) in --cert; else recorder, gateway or bridge for these programs and a random id for all others. A second recorder, gateway or bridge needs its own.",
            valueName: "id"))
    public var clientID: String?

    /// The topic root: the one to four topic levels with which every MQTT topic of the program begins.
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

    /// The quality of service, 0 or 1, of the subscriptions that end with the connection. Those of a recorder's intake
    /// always have 1.
    @Option(
        help: ArgumentHelp(
            "Subscribe at this quality of service, 0 or 1, where the session ends with the connection. Use 0 on a cluster of RabbitMQ or NATS.",
            valueName: "qos", visibility: .hidden))
    public var subscriptionQos = 1

    /// `true` to end the program when the broker cannot be reached or refuses the connection, instead of trying again:
    /// at the start, and also later, when a lost connection cannot be made again.
    @Flag(help: "End when the broker cannot be reached (exit code 69) or refuses (77), instead of trying again.")
    public var failFast = false

    /// The path of the configuration file (YAML): as given with `--config`, or that of the program's default file if
    /// there is one; `nil` without a file.
    @Option(
        help: ArgumentHelp(
            "Read options from this YAML file, by their long names. The command line wins over the environment (GODWIT_BROKER for --broker), which wins over the file. Default: godwit.yaml, of the agent agent.yaml, in ~/.config/godwit or /etc/godwit.",
            valueName: "path"))
    public var config: String?

    /// The lowest level of the log messages that the program writes to standard error.
    @Option(
        help: ArgumentHelp(
            "Log messages from this level on to standard error: error, warning, info, debug or trace.",
            valueName: "level"))
    public var logLevel = "warning"

    /// Creates the broker options with their default values. The command-line parser then sets the given values.
    public init() {}

    /// The path of the configuration file, from `--config`, else from `GODWIT_CONFIG`, else that of the program's
    /// default file if there is one; `nil` without a file.
    public var configurationFile: String? {
        self.config ?? LayeredArguments.value(of: "config", in: ProcessInfo.processInfo.environment)
    }

    /// Checks the values of the broker options: the log level, the topic root, the client id, and the addresses with
    /// their users. It reads no file and opens no connection.
    ///
    /// - Throws: `ValidationError` with the violated rule.
    public func validate() throws {
        guard Logger.Level(rawValue: self.logLevel) != nil else {
            throw ValidationError("--log-level must be error, warning, info, debug or trace, not '\(self.logLevel)'")
        }
        guard MQTTConfiguration.SubscriptionQoS(rawValue: self.subscriptionQos) != nil else {
            throw ValidationError("--subscription-qos must be 0 or 1, not \(self.subscriptionQos)")
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

/// The ids under which one run of a program connects to the broker: the client id and the session id.
public struct Identity: Sendable {
    /// The client id with which the program connects to the broker.
    public let client: ClientID
    /// The session id: a random id for one run of the program.
    public let session: SessionID
    /// `true` if the client id was chosen at random. Each run of the program then has a different client id.
    public let isRandom: Bool
}

extension BrokerOptions {
    /// The addresses of the broker from `--broker`, without user and password. Without the option, the only address is
    /// `mqtt://127.0.0.1:1883`.
    ///
    /// - Throws: `invalidConfiguration` with the violated rule if an address is malformed.
    public var addresses: [MQTTEndpoint] {
        get throws(TrackingError) { try self.endpoints.map(\.0) }
    }

    /// The addresses of the broker from `--broker` (without the option, `mqtt://127.0.0.1:1883`), each with the user
    /// and the password in its URL. These credentials are `nil` for an address without a user.
    private var endpoints: [(MQTTEndpoint, MQTTCredentials?)] {
        get throws(TrackingError) {
            let urls = self.broker.isEmpty ? ["mqtt://127.0.0.1:1883"] : self.broker
            return try urls.map { (url) throws(TrackingError) in try MQTTEndpoint.parse(url) }
        }
    }

    /// The user that the addresses of `--broker` name, with the password if an address has one; `nil` if no address
    /// names a user.
    ///
    /// - Throws: `invalidConfiguration` if an address is malformed, if the addresses name different users or passwords,
    ///   if a password or `--password-command` is given without a user, or if a password is given beside
    ///   `--password-command`.
    public var user: MQTTCredentials? {
        get throws(TrackingError) {
            let named = try self.endpoints.compactMap(\.1)
            guard Set(named).count < 2 else {
                throw TrackingError(
                    .invalidConfiguration,
                    "--broker: the addresses name different users or passwords. Several addresses lead to one broker: give all of them the same user and password"
                )
            }
            if named.isEmpty, self.password?.isEmpty == false || self.passwordCommand != nil {
                throw Self.passwordWithoutUser
            }
            if self.passwordCommand != nil, named.first?.password != nil || self.password?.isEmpty == false {
                throw Self.secondPassword
            }
            return named.first
        }
    }

    /// Returns the client id and a new session id for this run of the program. The client id is `--client-id`, else the
    /// first valid one of these: the user name that the broker's addresses have in common (see ``user``), the name (CN)
    /// in the client certificate, a random id.
    ///
    /// - Throws: `invalidName` if `--client-id` is malformed; the errors of ``user``.
    public func identity() throws(TrackingError) -> Identity {
        var generator = SystemRandomNumberGenerator()
        let session = SessionID.random(using: &generator)
        if let clientID = self.clientID {
            return Identity(client: try ClientID(clientID), session: session, isRandom: false)
        }
        if let user = try self.user?.user, let client = try? ClientID(user) {
            return Identity(client: client, session: session, isRandom: false)
        }
        if let path = self.certificate, let name = MQTTConfiguration.TLS.commonName(ofCertificate: path),
            let client = try? ClientID(name)
        {
            return Identity(client: client, session: session, isRandom: false)
        }
        return Identity(client: try ClientID("godwit-\(session)"), session: session, isRandom: true)
    }

    /// Makes the MQTT connection of a publisher, subscriber or recorder. The connection has a will: when it is lost,
    /// the broker publishes that the client is offline.
    ///
    /// - Parameters:
    ///   - member: The settings of the publisher, subscriber or recorder.
    ///   - user: The user name that replaces the one in `--broker`, with the same password; `nil` for no replacement.
    ///   - remedy: A sentence that is added to the error when another connection takes over the same client id; see
    ///     ``sharedUserRemedy(_:)``.
    /// - Throws: `invalidConfiguration` for invalid options; `inputUnreadable` if the password file or a certificate
    ///   file cannot be read.
    public func transport(
        for member: some MemberConfiguration, user: String? = nil, remedy: String? = nil
    ) throws(TrackingError) -> MQTTTransport {
        var base = MQTTConfiguration(endpoints: try self.endpoints.map(\.0), for: member)
        base.takeoverRemedy = remedy
        return try MQTTTransport(configuration: self.completed(base, as: user))
    }

    /// Makes an MQTT connection without a will: when this connection ends, the broker publishes nothing to other
    /// clients.
    ///
    /// - Throws: `invalidConfiguration` for invalid options; `inputUnreadable` if the password file or a certificate
    ///   file cannot be read.
    public func transport(_ identity: Identity) throws(TrackingError) -> MQTTTransport {
        try self.transport(identity.client, user: nil)
    }

    /// Makes an MQTT connection with the given client id and without a will: when the connection ends, the broker
    /// publishes nothing to other clients.
    ///
    /// - Parameters:
    ///   - client: The client id of the connection.
    ///   - user: The user name that replaces the one in `--broker`, with the same password; `nil` for no replacement.
    ///   - remedy: A sentence that is added to the error when another connection takes over the same client id; see
    ///     ``sharedUserRemedy(_:)``.
    /// - Throws: `invalidConfiguration` for invalid options; `inputUnreadable` if the password file or a certificate
    ///   file cannot be read.
    public func transport(
        _ client: ClientID, user: String?, remedy: String? = nil
    ) throws(TrackingError) -> MQTTTransport {
        var base = MQTTConfiguration(endpoints: try self.endpoints.map(\.0), client: client)
        base.takeoverRemedy = remedy
        return try MQTTTransport(configuration: self.completed(base, as: user))
    }

    /// Makes the MQTT connection on which a recorder, a client that stores records, receives messages. The recorder
    /// itself decides when each message is acknowledged to the broker. The broker keeps the MQTT session for seven days
    /// after a disconnect.
    ///
    /// - Parameters:
    ///   - client: The client id of the recorder, by which the broker finds the MQTT session again.
    ///   - receiveMaximum: The largest number of unacknowledged messages that the broker sends, 1 to 65,535.
    ///   - user: The user name that replaces the one in `--broker`, with the same password; `nil` for no replacement.
    ///   - certificate: The path of the client certificate in place of `--cert`; `nil` for `--cert`.
    ///   - key: The path of the private key in place of `--key`; `nil` for `--key`.
    ///   - remedy: A sentence that is added to the error when another connection takes over the same client id; see
    ///     ``sharedUserRemedy(_:)``.
    /// - Throws: `invalidConfiguration` for invalid options; `inputUnreadable` if the password file or a certificate
    ///   file cannot be read.
    public func intake(
        _ client: ClientID, receiveMaximum: Int, user: String?, certificate: String?, key: String?,
        remedy: String? = nil
    ) throws(TrackingError) -> MQTTTransport {
        var configuration = MQTTConfiguration(endpoints: try self.endpoints.map(\.0), client: client)
        configuration.takeoverRemedy = remedy
        configuration.session = .kept(for: .seconds(7 * 86_400))
        configuration.receiveMaximum = receiveMaximum
        configuration.withholdsAcknowledgements = true
        // The memory does not grow with the receive maximum: the connection reads no more while these wait.
        configuration.limits.waitingEvents = min(max(64, 2 * receiveMaximum), 1_000)
        configuration.tls.certificate = certificate
        configuration.tls.key = key
        return try MQTTTransport(configuration: self.completed(configuration, as: user))
    }

    /// Returns advice for a program with several connections that share one user. Some brokers use the user name as the
    /// client id, so each of these connections ends the other.
    ///
    /// - Parameter option: The option that gives each connection its own user, with its value. The advice recommends
    ///   it.
    /// - Returns: The advice as a text; `nil` if the connections have neither a user nor a certificate.
    public func sharedUserRemedy(_ option: String) -> String? {
        guard let name = try? self.user?.user ?? self.certificate.map({ "the certificate \($0)" }) else { return nil }
        return """
            The connections of this program share one user (\(name)). If the broker uses the user name as the client \
            id, as with the files in broker/, each connection ends the other. Give \(option)
            """
    }

    /// Makes an MQTT client for single operations, such as a publish that waits for the broker's acknowledgement.
    ///
    /// - Throws: `invalidConfiguration` for invalid options; `inputUnreadable` if the password file or a certificate
    ///   file cannot be read.
    package func client(_ identity: Identity) throws(TrackingError) -> MQTTClient {
        let base = MQTTConfiguration(endpoints: try self.endpoints.map(\.0), client: identity.client)
        return try MQTTClient(configuration: self.completed(base))
    }

    /// Returns a copy of an MQTT configuration with the credentials, the certificates and the logger added.
    ///
    /// - Parameters:
    ///   - base: The configuration to copy. Its own client certificate and key win over those of the options.
    ///   - user: The user name that replaces the one in the broker's address; `nil` to keep that one. It has no effect
    ///     if the address has no user.
    /// - Throws: `invalidConfiguration` if only one of `--cert` and `--key` is given; the errors of ``login()``.
    private func completed(_ base: MQTTConfiguration, as user: String? = nil) throws(TrackingError) -> MQTTConfiguration
    {
        guard (self.certificate == nil) == (self.key == nil) else {
            let missing = self.key == nil ? "--key" : "--cert"
            throw TrackingError(
                .invalidConfiguration, "\(missing) is missing: --cert and --key must be given together")
        }
        var configuration = base
        configuration.subscriptionQoS = .init(rawValue: self.subscriptionQos) ?? .atLeastOnce
        configuration.logger = Logger(label: "godwit.mqtt")
        configuration.credentials = try self.login()
        if let user { configuration.credentials?.user = user }
        configuration.credentialsProvider = configuration.credentials.flatMap { self.credentialsProvider(of: $0.user) }
        configuration.tls = .init(
            authorities: self.authorities, certificate: base.tls.certificate ?? self.certificate,
            key: base.tls.key ?? self.key)
        return configuration
    }
}
