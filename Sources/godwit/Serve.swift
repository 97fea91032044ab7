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

    @Option(
        help: ArgumentHelp(
            "How it is reached from outside: https://tracks.example.org. With https, cookies are for TLS alone, and X-Forwarded-For is believed.",
            valueName: "url"),
        transform: GatewayURL.checked)
    var url: String?

    @Option(
        help: ArgumentHelp(
            "Another origin whose pages may read the API: https://example.org; can be repeated. Default: none.",
            valueName: "origin"))
    var cors: [String] = []

    @Option(
        help: ArgumentHelp(
            "How many requests a second one token may make in the long run, 0.1 to 100000; ten seconds' worth may come at once.",
            valueName: "n"))
    var rateLimit = 100.0

    @Option(
        help: ArgumentHelp(
            "The most bytes of a request's body, after decompression, 1024 to 1073741824.", valueName: "bytes"))
    var maxBody = 8_388_608

    @OptionGroup var phones: PhoneOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var intake: IntakeOptions
    @OptionGroup var broker: BrokerOptions

    func validate() throws {
        guard (0.1...100_000).contains(self.rateLimit) else {
            throw ValidationError("--rate-limit is 0.1 to 100000 requests a second, not \(self.rateLimit)")
        }
        guard (1024...1_073_741_824).contains(self.maxBody) else {
            throw ValidationError("--max-body is 1024 to 1073741824 bytes, not \(self.maxBody)")
        }
        for origin in self.cors where try GatewayURL.checked(origin) != origin {
            throw ValidationError("an origin has no slash at its end: '\(origin.prefix(80))'")
        }
    }

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        try await Program.run(try Gateway(configuration: try self.configuration()))
    }

    private func configuration() throws -> GatewayConfiguration {
        let host = self.listen.host
        var configuration = GatewayConfiguration(
            host: host, port: self.listen.port, database: try self.state.path(for: "gateway.sqlite")
        ) { port in
            Program.note("listening on http://\(ListenAddress(host: host, port: port))\n")
        }
        configuration.url = self.url
        configuration.origins = self.cors
        configuration.requestsPerSecond = self.rateLimit
        configuration.maximumBodyBytes = self.maxBody
        configuration.phones = try self.phones.configuration()
        configuration.intake = try self.intake.intake(self.broker, self.state)
        return configuration
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
