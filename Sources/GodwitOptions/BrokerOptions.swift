public import ArgumentParser
import FoundationEssentials
import Logging
public import TrackingCore
public import TrackingMQTT

/// Where the broker is, who we are to it, and what is done when it is not there: the same for every command.
public struct BrokerOptions: ParsableArguments, Sendable {
    /// The broker's address.
    @Option(
        help: ArgumentHelp(
            "The broker: mqtt[s]://[user[:password]@]host[:port]; port 1883, with mqtts 8883. Repeat it for further endpoints. Default: mqtt://127.0.0.1:1883.",
            valueName: "url"))
    public var broker: [String] = []

    /// A file whose first line is the password.
    @Option(help: ArgumentHelp("A file whose first line is the password.", valueName: "path"))
    public var passwordFile: String?

    /// The password; given in the environment or the file rather than here.
    @Option(
        help: ArgumentHelp("The password. Give it as GODWIT_PASSWORD, not on the command line.", visibility: .hidden))
    public var password: String?

    /// The client id.
    @Option(
        help: ArgumentHelp(
            "The client id: 1 to 64 of A-Z a-z 0-9 _ -. Default: the user name, or else the name (CN) in --cert, or else random; a fixed one with record, serve and bridge, so that a second of them needs its own.",
            valueName: "id"))
    public var clientID: String?

    /// The topic root.
    @Option(help: ArgumentHelp("The topic root, 1 to 4 levels.", valueName: "levels"))
    public var topicRoot = "tracking"

    /// The file of trusted authorities.
    @Option(
        name: .customLong("ca"),
        help: ArgumentHelp(
            "A PEM file of the authorities to trust with mqtts. Default: the system's.", valueName: "path"))
    public var authorities: String?

    /// The client certificate.
    @Option(name: .customLong("cert"), help: ArgumentHelp("This client's certificate, PEM.", valueName: "path"))
    public var certificate: String?

    /// The key of the client certificate.
    @Option(name: .customLong("key"), help: ArgumentHelp("The key of --cert, PEM.", valueName: "path"))
    public var key: String?

    /// Ends instead of waiting for the broker.
    @Flag(help: "End with 69 when the broker cannot be reached, and 77 when it refuses, instead of waiting.")
    public var failFast = false

    /// The configuration file.
    @Option(
        help: ArgumentHelp(
            "A YAML file of options by their long names. The command line wins over the environment (GODWIT_BROKER for --broker), which wins over the file.",
            valueName: "path"))
    public var config: String?

    /// How much is logged.
    @Option(
        help: ArgumentHelp("What is logged on standard error: error, warning, info, debug, trace.", valueName: "level"))
    public var logLevel = "warning"

    /// Made by the parser.
    public init() {}

    /// The configuration file, named by the option or by the environment.
    public var configurationFile: String? {
        self.config ?? LayeredArguments.value(of: "config", in: ProcessInfo.processInfo.environment)
    }

    /// Checks what can be checked without looking outside.
    public func validate() throws {
        guard Logger.Level(rawValue: self.logLevel) != nil else {
            throw ValidationError("--log-level must be error, warning, info, debug or trace, not '\(self.logLevel)'")
        }
        do throws(TrackingError) {
            _ = try TopicRoot(self.topicRoot)
            if let clientID = self.clientID { _ = try ClientID(clientID) }
            _ = try self.credentials
        } catch {
            throw ValidationError(error.message)
        }
    }
}

/// Who a program is to the broker, in this run.
public struct Identity: Sendable {
    /// The name of the connection.
    public let client: ClientID
    /// This run.
    public let session: SessionID
    /// Whether the client id was drawn for this run alone.
    public let isRandom: Bool
}

extension BrokerOptions {
    /// The broker's addresses, without user and password.
    ///
    /// - Throws: `invalidConfiguration` that says what is wrong with one.
    public var addresses: [MQTTEndpoint] {
        get throws(TrackingError) { try self.endpoints.map(\.0) }
    }

    /// The user at the broker and, where it stands in an address, the password.
    ///
    /// - Throws: `invalidConfiguration` where the addresses name several users.
    public var user: MQTTCredentials? {
        get throws(TrackingError) { try self.credentials }
    }

    /// The broker's addresses and the credentials that stand in them.
    private var endpoints: [(MQTTEndpoint, MQTTCredentials?)] {
        get throws(TrackingError) {
            let urls = self.broker.isEmpty ? ["mqtt://127.0.0.1:1883"] : self.broker
            return try urls.map { (url) throws(TrackingError) in try MQTTEndpoint.parse(url) }
        }
    }

    /// The one user of all addresses, with the password that stands there.
    ///
    /// - Throws: `invalidConfiguration` where the addresses name several users, or `--password` belongs to none.
    private var credentials: MQTTCredentials? {
        get throws(TrackingError) {
            let named = try self.endpoints.compactMap(\.1)
            guard Set(named).count < 2 else {
                throw TrackingError(
                    .invalidConfiguration,
                    "the broker's addresses name different users or passwords; several addresses are several ways to one broker"
                )
            }
            if named.isEmpty, self.password?.isEmpty == false { throw Self.nobodysPassword }
            return named.first
        }
    }

    private static var nobodysPassword: TrackingError {
        TrackingError(
            .invalidConfiguration,
            "a password is given but no user: name the user in the broker's address, as in mqtts://user@host")
    }

    /// Who this program is: the client id given, else the user name where it is one, else the name in the client certificate
    /// where it is one, else a random one.
    ///
    /// - Throws: `invalidName` that says which rule is broken.
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

    /// The connection of this program as a publisher or a subscriber.
    ///
    /// - Parameters:
    ///   - user: The user in place of the one in the address, with the same password; `nil` for that one.
    ///   - remedy: A sentence for the error when another connection has the client id; see ``sharedUserRemedy(_:)``.
    /// - Throws: `invalidConfiguration`, or `inputUnreadable` for a password file.
    public func transport(
        for member: some MemberConfiguration, user: String? = nil, remedy: String? = nil
    ) throws(TrackingError) -> MQTTTransport {
        var base = MQTTConfiguration(endpoints: try self.endpoints.map(\.0), for: member)
        base.takeoverRemedy = remedy
        return try MQTTTransport(configuration: self.completed(base, as: user))
    }

    /// The connection of this program where it is neither: nobody is told when it dies.
    ///
    /// - Throws: `invalidConfiguration`, or `inputUnreadable` for a password file.
    public func transport(_ identity: Identity) throws(TrackingError) -> MQTTTransport {
        try self.transport(identity.client, user: nil)
    }

    /// The same under a name of its own.
    ///
    /// - Parameters:
    ///   - user: The user in place of the one in the address, with the same password; `nil` for that one.
    ///   - remedy: A sentence for the error when another connection has the client id; see ``sharedUserRemedy(_:)``.
    /// - Throws: `invalidConfiguration`, or `inputUnreadable` for a password file.
    public func transport(
        _ client: ClientID, user: String?, remedy: String? = nil
    ) throws(TrackingError) -> MQTTTransport {
        var base = MQTTConfiguration(endpoints: try self.endpoints.map(\.0), client: client)
        base.takeoverRemedy = remedy
        return try MQTTTransport(configuration: self.completed(base, as: user))
    }

    /// The connection on which a recorder takes in: what the broker sends is acknowledged when the recorder says so, and the
    /// broker keeps its session for a week.
    ///
    /// - Parameters:
    ///   - client: The name of the connection, by which the broker knows its session.
    ///   - receiveMaximum: How many messages the broker has under way at once, 1 to 65,535.
    ///   - user: The user in place of the one in the address, with the same password; `nil` for that one.
    ///   - certificate: The certificate in place of `--cert`, with `key`; `nil` for that one.
    ///   - remedy: A sentence for the error when another connection has the client id; see ``sharedUserRemedy(_:)``.
    /// - Throws: `invalidConfiguration`, or `inputUnreadable` for a password file.
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

    /// The remedy where several connections of this program have one user, and the broker uses the user name as the client id:
    /// each connection then ends the other.
    ///
    /// - Parameter option: The option that gives a connection a user of its own, with its value.
    /// - Returns: A sentence; `nil` where no connection has a user or a certificate.
    public func sharedUserRemedy(_ option: String) -> String? {
        guard let name = try? self.user?.user ?? self.certificate.map({ "the certificate \($0)" }) else { return nil }
        return """
            The connections of this program share one user (\(name)): where the broker uses the user name as the client id, as \
            with the files of broker/, each connection ends the other. Give \(option)
            """
    }

    /// The same, for MQTT in calls.
    ///
    /// - Throws: `invalidConfiguration`, or `inputUnreadable` for a password file.
    public func client(_ identity: Identity) throws(TrackingError) -> MQTTClient {
        let base = MQTTConfiguration(endpoints: try self.endpoints.map(\.0), client: identity.client)
        return try MQTTClient(configuration: self.completed(base))
    }

    /// With credentials and certificates.
    private func completed(_ base: MQTTConfiguration, as user: String? = nil) throws(TrackingError) -> MQTTConfiguration
    {
        guard (self.certificate == nil) == (self.key == nil) else {
            let missing = self.key == nil ? "--key" : "--cert"
            throw TrackingError(
                .invalidConfiguration, "--cert and --key are given together; \(missing) is missing")
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

    /// The one user and the password, wherever that is given.
    ///
    /// - Throws: `invalidConfiguration`, or `inputUnreadable` for a password file.
    public func login() throws(TrackingError) -> MQTTCredentials? {
        guard var login = try self.credentials else {
            guard try self.filedPassword() == nil else { throw Self.nobodysPassword }
            return nil
        }
        if login.password == nil { login.password = try self.filedPassword() ?? self.password }
        return login
    }

    /// An empty file is none: systemd gives one where no credential was set.
    private func filedPassword() throws(TrackingError) -> String? {
        guard let path = self.passwordFile else { return nil }
        let password = try SecretFile.read(path, "password file")
        return password.isEmpty ? nil : password
    }
}

/// A file whose first line is a secret.
public enum SecretFile {
    /// The first line.
    ///
    /// - Parameter what: What the file is called where it cannot be read.
    /// - Throws: `inputUnreadable` that names the file.
    public static func read(_ path: String, _ what: String) throws(TrackingError) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw TrackingError(.inputUnreadable, "the \(what) '\(path)' cannot be read")
        }
        let line = data.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        return String(decoding: line, as: UTF8.self)
    }
}
