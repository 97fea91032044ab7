import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingHistory
import TrackingStore

/// `godwit share`: creates, lists and revokes links that show one trackable for a limited time.
struct Share: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create, list and revoke links that show one trackable for a limited time.",
        discussion: """
            godwit share ID --for 2h is short for godwit share create ID --for 2h.

            Example:
              godwit share van-7 --for 2h
            """,
        subcommands: [Create.self, List.self, Revoke.self], defaultSubcommand: Create.self)
}

extension Share {
    /// `godwit share ID`, `godwit share create ID`: creates a link that shows one trackable for a limited time, and
    /// prints it.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a share link and print it once.",
            discussion: """
                Everyone who has the link sees the trackable's live position in a browser, without an account: nothing \
                from before the link was created, and nothing after it ends. If there is a history, the trackable must \
                be known: in the history, by a label, or by a token that may publish it. Without a history, only an id \
                that resembles a subcommand of godwit share must be known. Exit code 1: it is not.

                If the trackable has a journey, the link shows the estimated arrival at one of its stops. With --stop, \
                the command reads the journey from the broker. Exit codes: 1 the journey has no such stop, 69 the \
                broker cannot be reached. Without a journey, the command makes the link, because a later journey may \
                have the stop.

                Example:
                  godwit share create van-7 --for 2h --url https://tracks.example.org
                """)

        @Argument(help: "The id of the trackable.", transform: TrackableID.checked)
        var id: TrackableID

        @Option(
            name: .customLong("for"), parsing: .unconditional,
            help: ArgumentHelp("Let the link work for this time, as 30m, 2h or 7d.", valueName: "span"))
        var time: String

        @Option(
            help: ArgumentHelp(
                "Show the arrival at this stop of the journey, and no other stop; godwit journey show prints the ids. Default: the last stop.",
                valueName: "stop-id"))
        var stop: String?

        @Option(
            help: ArgumentHelp(
                "Begin the link with this address of the gateway: https://tracks.example.org. Default: the address of the gateway that runs, or ran last, with this --state, else http://127.0.0.1:8080.",
                valueName: "url"),
            transform: GatewayURL.checked)
        var url: String?

        @Flag(help: "Create the link even if the trackable or the stop is not known.")
        var yes = false

        @OptionGroup(title: "Gateway data") var state: StateOptions
        @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions
        @OptionGroup(title: "History") var store: StoreOptions

        func validate() throws {
            _ = try self.span()
            if let stop = self.stop { try checked { () throws(TrackingError) in try Journey.Stop.checkID(stop) } }
        }

        func run() async throws {
            let span = try self.span()
            if !self.yes {
                try await self.check()
                if let stop = self.stop { try await StopCheck(stop: stop, of: self.id).run(at: self.broker) }
            }
            let secret = try await self.state.useAccess { access in
                try await access.share(self.id, from: TimeText.now, for: span, stop: self.stop)
            }
            let url = try self.url ?? GatewayAddress(in: self.state).url ?? "http://127.0.0.1:8080"
            try Output.print("\(url)/s/\(secret.text)\n")
        }

        /// Checks that the history or the gateway's files know the trackable that is to be shared. Without a history,
        /// an unknown trackable is only noted on standard error.
        ///
        /// - Throws: Exit code 1 if the trackable is not known, and there is a history or the id resembles a subcommand.
        private func check() async throws {
            let command = CommandNames.question(for: self.id.rawValue, of: Share.self, path: "godwit share")
            switch try await KnownTrackables(state: self.state, store: self.store).find(self.id) {
            case .known: return
            case .unverifiable:
                if let command {
                    Program.complain(
                        "cannot share \(self.id.rawValue.printable): the gateway knows no trackable of this id. \(command) Give --yes to create the link all the same"
                    )
                    throw ExitCode(1)
                }
                Program.note(
                    "cannot check that the trackable \(self.id.rawValue.printable) exists: there is no history. Name a history with --store\n"
                )
            case .unknown(let nearest):
                Program.complain(
                    [
                        "cannot share \(self.id.rawValue.printable): neither the history nor the gateway knows a trackable of this id.",
                        nearest.question, command, "Give --yes to create the link all the same",
                    ].compactMap(\.self).joined(separator: " "))
                throw ExitCode(1)
            }
        }

        private func span() throws -> Duration {
            try checked { () throws(TrackingError) in try HistoryTime.span(self.time) }
        }
    }

    /// `godwit share list`: prints all share links with their numbers and states.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the share links with their numbers and states. The links themselves are not stored.",
            discussion: """
                Example:
                  godwit share list
                """)

        @Option(help: ArgumentHelp("Print text, or json: one object a line.", valueName: "format"))
        var format = ListFormat.text

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            let grants = try await self.state.useAccess { try await $0.grants(.share) }
            try Output.print(GrantTable(grants, now: TimeText.now).text(self.format))
        }
    }

    /// `godwit share revoke NUMBER`: revokes a share link. The exit code is 1 if no valid link has this number.
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a share link.",
            discussion: """
                Exit code 1: no link of this number is valid.

                Example:
                  godwit share revoke 3
                """)

        @Argument(help: "The number of the link, as godwit share list shows it.")
        var number: Int64

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            guard try await self.state.useAccess({ try await $0.revokeShare(self.number, now: TimeText.now) }) else {
                Program.complain(
                    "cannot revoke share link \(self.number): it does not exist, or is revoked already. List the links with godwit share list"
                )
                throw ExitCode(1)
            }
        }
    }
}

/// Checks of the URLs that options of the gateway contain: its own public URL, and the origins of other web pages.
enum GatewayURL {
    /// Returns `true` for a text that is an origin as browsers write it (RFC 6454): scheme, host and port, and nothing
    /// after them.
    static func isOrigin(_ text: String) -> Bool {
        text.utf8.count <= 1000 && text.wholeMatch(of: #/https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?/#) != nil
    }

    /// Checks the gateway's URL, and returns it without a slash at its end.
    ///
    /// - Throws: `ValidationError` that names the required form.
    static func checked(_ text: String) throws -> String {
        let url = text.hasSuffix("/") ? String(text.dropLast()) : text
        guard let start = ["https://", "http://"].first(where: url.hasPrefix), url.utf8.count > start.utf8.count,
            url.utf8.count <= 1000, url.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw ValidationError("--url must be http:// or https:// and a host, as https://tracks.example.org")
        }
        return url
    }
}
