import ArgumentParser
import GodwitOptions
import Logging
import TrackingCore
import TrackingGateway

/// `godwit serve`: the HTTP server beside broker and history.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve phones, a live map and an API over HTTP.",
        discussion: """
            Behind a proxy that speaks TLS. Ends with 66 where the history cannot be used or the address cannot be listened on.
            """)

    @Option(help: ArgumentHelp("The address and port to listen on; port 0 takes a free one.", valueName: "host:port"))
    var listen = ListenAddress(host: "127.0.0.1", port: 8080)

    @OptionGroup var state: StateOptions

    @OptionGroup var intake: IntakeOptions

    @OptionGroup var broker: BrokerOptions

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        let host = self.listen.host
        var configuration = GatewayConfiguration(host: host, port: self.listen.port) { port in
            Program.note("listening on http://\(ListenAddress(host: host, port: port))\n")
        }
        configuration.intake = try self.intake.intake(self.broker, self.state)
        let gateway = Gateway(configuration: configuration)
        try await Program.run(gateway)
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
