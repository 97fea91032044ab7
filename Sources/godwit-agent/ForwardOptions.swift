import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingMQTT
import TrackingSinks

/// The options of an agent that sends its records to an HTTP server in place of a broker.
struct ForwardOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Send recorded points to this server, and use no broker: overland+https://HOST/PATH for an Overland server, or webhook+https://HOST/PATH for signed CloudEvents. A record stays in the log until the server has acknowledged it.",
            valueName: "address", visibility: .hidden), transform: ForwardOptions.address)
    var forward: ForwardAddress?

    @Option(
        help: ArgumentHelp(
            "Send the first line of this file to the Overland server of --forward as the token.", valueName: "path",
            visibility: .hidden))
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "Sign requests to the webhook of --forward with the first line of this file, at least 16 bytes.",
            valueName: "path", visibility: .hidden))
    var secretFile: String?

    /// Makes the connection to the server; `nil` without `--forward`.
    ///
    /// - Throws: `inputUnreadable` if the file with the token or the secret cannot be read; the errors of
    ///   ``SinkTransport``.
    func transport(root: TopicRoot) throws(TrackingError) -> SinkTransport? {
        guard let address = self.forward else { return nil }
        let isOverland = address.kind == .overland
        let path = address.secretFile ?? (isOverland ? self.tokenFile : self.secretFile)
        let secret = try path.map { (path) throws(TrackingError) in
            try SecretFile.read(path, isOverland ? "token file" : "secret file")
        }
        return try SinkTransport(address, secret: secret, root: root)
    }

    /// Parses the value of `--forward`.
    ///
    /// - Throws: `ValidationError` that names the violated rule.
    private static func address(_ text: String) throws -> ForwardAddress {
        do throws(TrackingError) {
            let address = try ForwardAddress(text)
            if address.kind != .mqtt { return address }
        } catch {
            throw ValidationError(error.message)
        }
        throw ValidationError(
            "--forward takes the address of an HTTP server, overland+https://… or webhook+https://…. Give a broker as --broker"
        )
    }
}

extension Run {
    /// The addresses of the servers to which the agent sends its records, as text for its reports: the sink of `--forward`,
    /// or otherwise the broker.
    var servers: String {
        if let sink = self.forwarding.forward { return sink.description }
        return ((try? self.broker.addresses) ?? []).map(\.description).joined(separator: " ")
    }

    /// Checks that no option for a broker is given beside `--forward`.
    ///
    /// - Throws: `ValidationError` that names the option.
    func checkForwarding() throws {
        guard self.forwarding.forward != nil else {
            let files = [
                ("--token-file", self.forwarding.tokenFile), ("--secret-file", self.forwarding.secretFile),
            ]
            for (name, path) in files where path != nil {
                throw ValidationError("\(name) is for the server of --forward. Give --forward, or leave \(name) out")
            }
            return
        }
        guard self.broker.broker.isEmpty else {
            throw ValidationError(
                "--forward and --broker are both given. An agent sends its records either to a server or to a broker. To have both, give --broker here, and run godwit forward on the history of the recorder"
            )
        }
        let others: [(String, Bool)] = [
            ("--acknowledge-by", !self.recording.acknowledgeBy.isEmpty), ("--raw", self.input.raw),
            ("--fail-fast", self.broker.failFast),
            ("--allow-commands", self.controls.allowCommands.map { $0 != .off } ?? false),
        ]
        for (name, isGiven) in others where isGiven {
            throw ValidationError("\(name) needs a broker, and --forward uses none. Leave one of the two options out")
        }
    }
}
