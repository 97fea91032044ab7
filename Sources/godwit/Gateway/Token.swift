import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingHistory

/// `godwit token`: who may use the gateway.
struct Token: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make, list and revoke the tokens of a gateway.",
        discussion: "A gateway that runs on the same folder takes note at once.",
        subcommands: [Create.self, List.self, Revoke.self])
}

extension Token {
    /// `godwit token create`.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a token, and show it this once.",
            discussion: """
                What is kept of it cannot be made into the token again. Give each phone and each program its own, so that one \
                can be revoked without the others.
                """)

        @Option(help: ArgumentHelp("What it is called, 1 to 100 bytes; one valid token of a name.", valueName: "name"))
        var name: String

        @Option(help: ArgumentHelp("May publish this trackable; can be repeated.", valueName: "id"))
        var publish: [String] = []

        @Option(help: ArgumentHelp("May read this trackable; can be repeated.", valueName: "id"))
        var read: [String] = []

        @Flag(help: "May read every trackable.")
        var readAll = false

        @Flag(help: "May change what concerns everyone, and read every trackable.")
        var admin = false

        @Option(
            help: ArgumentHelp(
                "When it ends: after a span of time (90d, 12h), or at a time (RFC 3339). Default: never.",
                valueName: "time"))
        var expires: String?

        @Option(
            help: ArgumentHelp(
                "How many requests a second it may make in the long run, 0.1 to 100000; ten seconds' worth may come at once. Default: as the gateway's --rate-limit says.",
                valueName: "n"))
        var rateLimit: Double?

        @Option(
            help: ArgumentHelp(
                "The most bytes of a request's body, after decompression, 1024 to 1073741824. Default: as the gateway's --max-body says.",
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
                    "--name has 1 to 100 bytes, no control characters and none that turn the direction of text")
            }
            guard !self.publish.isEmpty || !self.read.isEmpty || self.readAll || self.admin else {
                throw ValidationError("a token is for something: --publish, --read, --read-all or --admin")
            }
            let limits = TokenLimits(requestsPerSecond: self.rateLimit, bodyBytes: self.maxBody)
            try limits.check()
            let readsAll = self.readAll || self.admin
            return AccessGrant(
                name: self.name, publishes: .only(Set(try self.publish.map(TrackableID.checked))),
                reads: readsAll ? .all : .only(Set(try self.read.map(TrackableID.checked))), isAdmin: self.admin,
                limits: limits, begins: now, ends: try self.expires.map { try Self.end($0, now: now) })
        }

        private static func end(_ text: String, now: UnixTime) throws -> UnixTime {
            let end = try checked { () throws(TrackingError) in
                if text.contains("-") || text.contains(":") { return try HistoryTime.moment(text, now: now) }
                return now.advanced(by: try HistoryTime.span(text))
            }
            guard end > now else { throw ValidationError("--expires is a time to come, not '\(text.prefix(40))'") }
            return end
        }
    }

    /// `godwit token list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the tokens, with what each may, and whether it is valid; never the tokens themselves.")

        @Option(help: ArgumentHelp("text, or json: an object a line.", valueName: "format"))
        var format = ListFormat.text

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            let grants = try await self.state.useAccess { try await $0.grants(.token) }
            let now = TimeText.now
            try Output.print(grants.map { $0.line(self.format, now: now) }.joined())
        }
    }

    /// `godwit token revoke`.
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a token, and sign out whoever signed in with it.",
            discussion: "Exit code 1 where there is no valid token of this name.")

        @Argument(help: "What it is called.")
        var name: String

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            guard try await self.state.useAccess({ try await $0.revokeToken(self.name, now: TimeText.now) }) else {
                Program.complain("there is no token '\(self.name.printable)' that is not revoked")
                throw ExitCode(1)
            }
        }
    }
}

extension TokenLimits {
    /// Refuses what no token can be allowed, by the names of the options.
    func check() throws {
        if let rate = self.requestsPerSecond, !Self.requestRange.contains(rate) {
            throw ValidationError("--rate-limit is 0.1 to 100000 requests a second, not \(rate)")
        }
        if let bytes = self.bodyBytes, !Self.bodyRange.contains(bytes) {
            throw ValidationError("--max-body is 1024 to 1073741824 bytes, not \(bytes)")
        }
    }

    /// For people; nothing where it is as for all.
    fileprivate var words: [String] {
        [
            self.requestsPerSecond.map { "\($0) requests/s" }, self.bodyBytes.map { "bodies of \($0) bytes" },
        ].compactMap(\.self)
    }
}

extension AccessGrant {
    /// A line of a list, its end included.
    func line(_ format: ListFormat, now: UnixTime) -> String {
        switch format {
        case .text:
            let end = self.ends.map { "until \(TimeText.rfc3339($0))" } ?? "for good"
            let rights =
                self.kind == .share
                ? []
                : ["publishes \(self.publishes.description.printable)", "reads \(self.reads.description.printable)"]
            let parts =
                ["\(self.number)", self.name.printable] + rights + (self.isAdmin ? ["admin"] : []) + self.limits.words
                + ["from \(TimeText.rfc3339(self.begins)) \(end)", self.state(at: now).rawValue]
            return parts.joined(separator: "  ") + "\n"
        case .json:
            var members: [String: JSONValue] = [
                "number": .number(Double(self.number)), "name": .text(self.name), "publishes": self.publishes.value,
                "reads": self.reads.value, "admin": .flag(self.isAdmin), "begins": .number(self.begins.seconds),
                "state": .text(self.state(at: now).rawValue),
            ]
            members["rateLimit"] = self.limits.requestsPerSecond.map { .number($0) }
            members["maxBody"] = self.limits.bodyBytes.map { .number(Double($0)) }
            members["ends"] = self.ends.map { .number($0.seconds) }
            return String(decoding: JSONValue.object(members).json, as: UTF8.self) + "\n"
        }
    }
}
