import ArgumentParser
import GodwitOptions
import Logging
import ServiceLifecycle
import TrackingCertificate
import TrackingCore
import TrackingMQTT
import Synchronization

/// `godwit certify`: tries on a broker everything that Godwit relies on, and prints the broker's certificate.
struct Certify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Try if Godwit may be used on a broker, and print what the broker lacks.",
        discussion: """
            The command publishes about 10,000 small messages below --root and a random level, with clients of its own. \
            It clears its retained messages and ends its sessions, also after a failure. Do not run it as a user that \
            can connect only once. Exit code 1: Godwit must not be used on this broker.

            Example:
              godwit certify mqtts://me@broker.example.org
            """)

    @Argument(
        help: ArgumentHelp(
            "The broker's address, mqtt[s]://[user[:password]@]host[:port], and optionally a second address of the same cluster.",
            valueName: "broker-url"))
    var addresses: [String]

    @Option(help: ArgumentHelp("Publish below these 1 to 4 topic levels.", valueName: "levels"))
    var root = "godwit-certify"

    @Option(help: ArgumentHelp("Print text, or json: one object.", valueName: "format"))
    var format = ListFormat.text

    @OptionGroup var login: CertifyLogin

    func validate() throws {
        guard (1...2).contains(self.addresses.count) else {
            throw ValidationError("give one address of the broker, or two addresses of one cluster")
        }
        try checked { () throws(TrackingError) in
            _ = try TopicRoot(self.root)
            for address in self.addresses { _ = try MQTTEndpoint.parse(address) }
        }
    }

    func run() async throws {
        Program.startLogging(.error)
        let certificate = try await self.certificate()
        let printer = CertificatePrinter(
            address: try MQTTEndpoint.parse(self.addresses[0]).endpoint.description, certificate: certificate)
        try Output.print(self.format == .text ? printer.text : printer.json)
        if !certificate.isUsable { throw ExitCode(1) }
    }

    private func certificate() async throws -> Certificate {
        let brokers = try self.addresses.map { (address) throws(TrackingError) in try self.login.broker(address) }
        let certification = Certification<MQTTTransport>(root: self.root, clusters: brokers.count > 1) { client in
            let broker = brokers[client.address == .second ? 1 : 0]
            return try MQTTTransport(configuration: broker.configuration(for: client))
        }
        let service = CertifyService(certification: certification)
        let ending = Ending()
        do { try await Program.run(service) } catch is CancellationError {} catch { ending.note(error) }
        Self.noteRemains(of: certification)
        guard let certificate = service.certificate.withLock({ $0 }) else {
            if let error = ending.error { throw error }
            Program.note("The command was stopped before the certificate was complete.\n")
            throw ExitCode(1)
        }
        return certificate
    }

    /// Names the retained messages and the sessions that may remain at the broker.
    private static func noteRemains(of certification: Certification<MQTTTransport>) {
        if let filter = certification.remainingTopics {
            Program.note("Retained messages may remain at the broker. Clear them: \(filter)\n")
        }
        let clients = certification.remainingClients
        if !clients.isEmpty {
            let ids = clients.map(\.rawValue).joined(separator: ", ")
            Program.note("Sessions may remain at the broker. Delete the sessions of these client ids there: \(ids)\n")
        }
    }
}

/// The run of a certification until its end, or until a signal asks the program to end. It then removes its traces.
private final class CertifyService: Service {
    let certificate = Mutex<Certificate?>(nil)
    private let certification: Certification<MQTTTransport>

    init(certification: Certification<MQTTTransport>) { self.certification = certification }

    func run() async throws {
        let certificate = try await cancelWhenGracefulShutdown { try await self.certification.certify() }
        self.certificate.withLock { $0 = certificate }
    }
}

/// The options with which `godwit certify` signs in to a broker.
struct CertifyLogin: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the password of the user in the address from the first line of this file.", valueName: "path"))
    var passwordFile: String?

    @Option(
        help: ArgumentHelp(
            "Sign in with this password. Give it as GODWIT_PASSWORD, not on the command line.", visibility: .private))
    var password: String?

    @Option(
        name: .customLong("ca"),
        help: ArgumentHelp(
            "Trust the authorities in this PEM file for mqtts. Default: those of the system.", valueName: "path"))
    var authorities: String?

    @Option(
        name: .customLong("cert"), help: ArgumentHelp("Sign in with this client certificate, PEM.", valueName: "path"))
    var certificate: String?

    @Option(name: .customLong("key"), help: ArgumentHelp("Use this private key of --cert, PEM.", valueName: "path"))
    var key: String?

    /// Returns the broker at an address, with the user and the password to sign in.
    ///
    /// - Throws: `invalidConfiguration` for a malformed address; `inputUnreadable` if the password file cannot be read.
    func broker(_ address: String) throws(TrackingError) -> CertifiedBroker {
        let (endpoint, named) = try MQTTEndpoint.parse(address)
        var credentials = named
        if credentials != nil, credentials?.password == nil {
            let filed = try self.passwordFile.map { (path) throws(TrackingError) in
                try SecretFile.read(path, "password file")
            }
            credentials?.password = filed ?? self.password
        }
        let tls = MQTTConfiguration.TLS(
            authorities: self.authorities, certificate: self.certificate, key: self.key)
        return CertifiedBroker(endpoint: endpoint, credentials: credentials, tls: tls)
    }
}

/// An address of the broker that is certified, and the login there.
struct CertifiedBroker: Sendable {
    let endpoint: MQTTEndpoint
    let credentials: MQTTCredentials?
    let tls: MQTTConfiguration.TLS

    /// Returns the settings of the connection of a client.
    func configuration(for client: CertificateClient) -> MQTTConfiguration {
        var configuration = MQTTConfiguration(endpoints: [self.endpoint], client: client.id)
        configuration.credentials = self.credentials
        configuration.tls = self.tls
        configuration.version = client.version
        configuration.session = client.isKept ? .kept(for: .seconds(600)) : .clean
        configuration.withholdsAcknowledgements = client.withholdsAcknowledgements
        if let will = client.will { configuration.will = { _ in will } }
        return configuration
    }
}
