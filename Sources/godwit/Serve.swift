import ArgumentParser
import GodwitOptions
import Logging
import TrackingCore
import TrackingGateway
import TrackingMQTT
import TrackingSubscriber

/// `godwit serve`: the HTTP server beside broker and history.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve phones, a live map and an API over HTTP.",
        discussion: """
            Behind a proxy that speaks TLS. Ends with 66 where the history cannot be used or the address cannot be listened on.
            """)

    @Option(help: ArgumentHelp("The address and port to listen on; port 0 takes a free one.", valueName: "host:port"))
    var listen = ListenAddress(host: "127.0.0.1", port: 8080)

    @OptionGroup var broker: BrokerOptions

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        let host = self.listen.host
        let gateway = Gateway(
            configuration: GatewayConfiguration(host: host, port: self.listen.port) { port in
                Program.note("listening on http://\(ListenAddress(host: host, port: port))\n")
            },
            subscriber: try self.subscriber())
        try await Program.run(gateway)
    }

    /// One connection that hears everything, for however many look.
    private func subscriber() throws -> AssetSubscriber<MQTTTransport> {
        let identity = try self.broker.identity()
        var configuration = SubscriberConfiguration(client: identity.client, session: identity.session)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.watchesAll = true
        configuration.isPresentOnlyWhileAsking = true
        configuration.isClientRandom = identity.isRandom
        return AssetSubscriber(
            configuration: configuration, transport: try self.broker.transport(for: configuration))
    }
}

/// An address to listen on, as `127.0.0.1:8080` or `[::1]:8080`.
struct ListenAddress: Hashable, ExpressibleByArgument, CustomStringConvertible {
    /// A name or an address, without brackets.
    var host: String
    /// 0…65535; 0 takes a free one.
    var port: Int

    var description: String { "\(self.host.contains(":") ? "[\(self.host)]" : self.host):\(self.port)" }

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), let port = UInt16(argument[argument.index(after: colon)...])
        else {
            return nil
        }
        var host = argument[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: Int(port))
    }
}
