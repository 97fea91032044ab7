import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingHistory

/// `godwit token`: creates, lists and revokes tokens, the secrets with which phones and programs sign in at the
/// gateway.
struct Token: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create, list and revoke the tokens of a gateway.",
        discussion: """
            A gateway that runs with the same --state uses the change at once.

            Example:
              godwit token create --name me --admin
            """,
        subcommands: [Create.self, List.self, Revoke.self])
}

extension Token {
    /// `godwit token create`: creates a token with the given rights and limits, and prints the token once.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a token and print it once.",
            usage: "godwit token create --name <name> [<options>]",
            discussion: """
                The gateway stores a hash only, so that the token cannot be shown again. Give each phone and each \
                program its own token: each can then be revoked alone.

                Example:
                  godwit token create --name jane-phone --publish jane --expires 90d
                """)

        @Option(
            help: ArgumentHelp(
                "Name the token: 1 to 100 bytes. Two valid tokens cannot have one name.", valueName: "name"))
        var name: String

        @Option(help: ArgumentHelp("Permit the token's holder to publish this trackable. Repeatable.", valueName: "id"))
        var publish: [String] = []

        @Option(help: ArgumentHelp("Permit the token's holder to read this trackable. Repeatable.", valueName: "id"))
        var read: [String] = []

        @Option(
            help: ArgumentHelp(
                "Permit the token's holder to read each trackable that is in this group, also later ones. Repeatable.",
                valueName: "group"))
        var readGroup: [String] = []

        @Flag(help: "Permit the token's holder to read every trackable.")
        var readAll = false

        @Flag(help: "Permit the token's holder to administer the gateway and to read every trackable.")
        var admin = false

        @Flag(help: "Let the token sign in one browser, once, and permit nothing else. The session has the rights.")
        var once = false

        @Option(
            help: ArgumentHelp(
                "Let the token end after this time (90d, 12h) or at this time (RFC 3339). Default: never.",
                valueName: "time"))
        var expires: String?

        @Option(
            help: ArgumentHelp(
                "Allow this many requests a second, 0.1 to 100000; the requests of ten seconds may come at once. Default: the gateway's --rate-limit.",
                valueName: "n"))
        var rateLimit: Double?

        @Option(
            help: ArgumentHelp(
                "Accept request bodies of at most this many bytes after decompression, 1024 to 1073741824. Default: the gateway's --max-body.",
                valueName: "bytes"))
        var maxBody: Int?

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func validate() throws { _ = try self.grant(now: TimeText.now) }

        func run() async throws {
            let grant = try self.grant(now: TimeText.now)
            let secret = try await self.state.useAccess { try await $0.makeToken(grant) }
            try Output.print("\(secret.text)\n")
        }

        private func grant(now: UnixTime) throws -> AccessGrant {
            guard (1...100).contains(self.name.utf8.count), self.name.isPlainText else {
                throw ValidationError(
                    "--name must be 1 to 100 bytes, without control characters and characters that change the direction of text"
                )
            }
            guard
                !self.publish.isEmpty || !self.read.isEmpty || !self.readGroup.isEmpty || self.readAll || self.admin
            else {
                throw ValidationError(
                    "the token would permit nothing. Give --publish, --read, --read-group, --read-all or --admin")
            }
            let limits = TokenLimits(requestsPerSecond: self.rateLimit, bodyBytes: self.maxBody)
            try limits.check()
            let readsAll = self.readAll || self.admin
            var grant = AccessGrant(
                name: self.name, publishes: .only(Set(try self.publish.map(TrackableID.checked))),
                reads: readsAll ? .all : .only(Set(try self.read.map(TrackableID.checked))), isAdmin: self.admin,
                limits: limits, begins: now, ends: try self.expires.map { try Self.end($0, now: now) })
            grant.readGroups = try Self.groups(self.readGroup)
            grant.once = self.once ? .unused : nil
            return grant
        }

        private static func groups(_ names: [String]) throws -> Set<String> {
            for name in names {
                guard (1...128).contains(name.utf8.count), name.isPlainText else {
                    throw ValidationError(
                        "--read-group must be 1 to 128 bytes, without control characters and characters that change the direction of text"
                    )
                }
            }
            return Set(names)
        }

        private static func end(_ text: String, now: UnixTime) throws -> UnixTime {
            let end = try checked { () throws(TrackingError) in
                if text.contains("-") || text.contains(":") { return try HistoryTime.moment(text, now: now) }
                return now.advanced(by: try HistoryTime.span(text))
            }
            guard end > now else {
                throw ValidationError("--expires must be in the future, not '\(text.prefix(40))'")
            }
            return end
        }
    }

    /// `godwit token list`: prints all tokens with their rights and states.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the tokens with their rights and states. The tokens themselves are not stored.",
            discussion: """
                Example:
                  godwit token list
                """)

        @Option(help: ArgumentHelp("Print text, or json: one object a line.", valueName: "format"))
        var format = ListFormat.text

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            let grants = try await self.state.useAccess { try await $0.grants(.token) }
            try Output.print(GrantTable(grants, now: TimeText.now).text(self.format))
        }
    }

    /// `godwit token revoke NAME`: revokes a token. The exit code is 1 if no valid token has this name.
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a token, and sign out everyone who signed in with it.",
            discussion: """
                Exit code 1: no token of this name is valid.

                Example:
                  godwit token revoke jane-phone
                """)

        @Argument(help: "The name of the token.")
        var name: String

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            guard try await self.state.useAccess({ try await $0.revokeToken(self.name, now: TimeText.now) }) else {
                Program.complain(
                    "cannot revoke token '\(self.name.printable)': it does not exist, or is revoked already. List the tokens with godwit token list"
                )
                throw ExitCode(1)
            }
        }
    }
}

extension TokenLimits {
    /// Checks that the limits of a token (requests a second, size of a request) are in their permitted ranges.
    ///
    /// - Throws: `ValidationError` that names the option and its range.
    func check() throws {
        if let rate = self.requestsPerSecond, !Self.requestRange.contains(rate) {
            throw ValidationError("--rate-limit must be 0.1 to 100000 requests a second, not \(rate)")
        }
        if let bytes = self.bodyBytes, !Self.bodyRange.contains(bytes) {
            throw ValidationError("--max-body must be 1024 to 1073741824 bytes, not \(bytes)")
        }
    }

    /// The token's own limits as texts for people. Empty if only the gateway's limits apply to the token.
    var words: [String] {
        [
            self.requestsPerSecond.map { "\($0) requests/s" }, self.bodyBytes.map { "bodies of \($0) bytes" },
        ].compactMap(\.self)
    }
}
