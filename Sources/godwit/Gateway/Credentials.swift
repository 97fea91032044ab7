import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingHistory
import TrackingRules

/// `godwit credentials`: issues, lists and revokes credentials, with which an app may watch some trackables at the
/// broker for a short time.
struct Credentials: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Issue, list and revoke short-lived rights of apps at the broker.",
        discussion: """
            A gateway that runs with the same --state and the same --credential-issuer withdraws credentials \
            when they expire.

            Example:
              godwit credentials issue --read order-17 --for 1h --credential-issuer dynsec --broker mqtts://admin@host
            """,
        subcommands: [Issue.self, List.self, Revoke.self])
}

extension Credentials {
    /// `godwit credentials issue`: issues a credential for some trackables, and prints it once.
    struct Issue: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Issue a credential and print it once, as JSON.",
            discussion: """
                The app signs in to the broker with the printed user name, password and client id. It may watch \
                these trackables and no others. It also sees the client ids of all clients, and which of them are \
                connected. The command also withdraws credentials that have expired.

                Example:
                  godwit credentials issue --read order-17 --for 1h --credential-issuer dynsec --broker mqtts://admin@host
                """)

        @Option(help: ArgumentHelp("Let the app watch this trackable. Repeatable, up to 20.", valueName: "id"))
        var read: [String]

        @Option(
            name: .customLong("for"),
            help: ArgumentHelp(
                "Let the credential be valid for this time, as 30m or 2h; at most 24h.", valueName: "span"))
        var time: String

        @OptionGroup(title: "Credentials") var credentials: CredentialOptions
        @OptionGroup(title: "Gateway data") var state: StateOptions
        @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

        func validate() throws {
            _ = try self.request()
            guard self.credentials.credentialIssuer != nil else {
                throw ValidationError("--credential-issuer is missing: give dynsec or jwt")
            }
        }

        func run() async throws {
            let request = try self.request()
            let issued = try await self.state.useCredentials(self.credentials, self.broker) { _, desk in
                try await desk?.withdraw(now: TimeText.now)
                return try await desk?.issue(request, now: TimeText.now, by: .commandLine)
            }
            guard let issued else { return }
            try Output.print(String(decoding: issued.json.json, as: UTF8.self) + "\n")
        }

        private func request() throws -> CredentialRequest {
            try checked { () throws(TrackingError) in
                try CredentialRequest(reads: self.read, for: try HistoryTime.span(self.time))
            }
        }
    }

    /// `godwit credentials list`: prints the credentials with their trackables and states.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the newest 1,000 credentials with their trackables and states. Passwords are not stored.",
            discussion: """
                Example:
                  godwit credentials list
                """)

        @Option(help: ArgumentHelp("Print text, or json: one object a line.", valueName: "format"))
        var format = ListFormat.text

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            let list = try await self.state.useCredentials { try await $0.newest() }
            let now = TimeText.now
            switch self.format {
            case .json:
                let lines = list.map { String(decoding: JSONValue.object($0.members(at: now)).json, as: UTF8.self) }
                try Output.print(lines.map { "\($0)\n" }.joined())
            case .text:
                var table = TextTable([
                    .value("id", .left), .value("state", .left), .text("reads", cutTo: 16), .value("issuer", .left),
                    .value("begins", .left, omission: 1), .value("ends", .left, omission: 2),
                ])
                for credential in list { table.append(credential.cells(at: now)) }
                try Output.print(table.text(limit: Terminal.tableWidth))
            }
        }
    }

    /// `godwit credentials revoke ID`: revokes a credential. The exit code is 1 if no valid credential has this id.
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a credential, and end the connection of the app.",
            discussion: """
                Without --credential-issuer, a gateway that runs with the same --state ends the connection. \
                Exit code 1: no credential of this id is valid.

                Example:
                  godwit credentials revoke app-5f0e8c2a91d34b7c86aa
                """)

        @Argument(help: "The id of the credential, as godwit credentials list shows it.")
        var id: String

        @OptionGroup(title: "Credentials") var credentials: CredentialOptions
        @OptionGroup(title: "Gateway data") var state: StateOptions
        @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

        func run() async throws {
            let isRevoked = try await self.state.useCredentials(self.credentials, self.broker) { store, desk in
                guard let desk else {
                    return try await store.revoke(self.id, now: TimeText.now, by: .commandLine) != nil
                }
                return try await desk.revoke(self.id, now: TimeText.now, by: .commandLine)
            }
            guard isRevoked else {
                Program.complain(
                    "cannot revoke credential '\(self.id.printable)': it does not exist, or is not valid any more. List the credentials with godwit credentials list"
                )
                throw ExitCode(1)
            }
        }
    }
}

extension AppCredential {
    /// The cells of the row for this credential in the table of `godwit credentials list`.
    fileprivate func cells(at now: UnixTime) -> [String] {
        [
            self.id.description, self.state(at: now).rawValue, self.reads.map(\.rawValue).joined(separator: ", "),
            self.kind.rawValue, TimeText.localDate(self.begins), TimeText.localDate(self.ends),
        ]
    }
}
