import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// The tools of `broker/` and the programs with the users that they make.
extension BrokerFilesTests {
    /// Runs a shell script in a copy of `broker/`.
    ///
    /// - Returns: The lines of `acl.conf` afterwards.
    @discardableResult
    private func script(_ text: String, in folder: URL) async throws -> String {
        if !FileManager.default.fileExists(atPath: folder.path()) {
            let source = Programs.root.appending(path: "broker").path()
            try await ChildProcess.run("/bin/cp", ["-R", source, folder.path()])
        }
        try await ChildProcess.run("/bin/sh", ["-ec", "cd '\(folder.path())'\n" + text])
        return try String(contentsOf: folder.appending(path: "acl.conf"), encoding: .utf8)
    }

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-tools-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    /// The lines of a user, in the order of the file.
    private static func section(_ user: String, of rules: String) -> [String] {
        rules.components(separatedBy: "\nuser \(user)\n").dropFirst().first.map { rest in
            rest.split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("topic ") }.map(
                String.init)
        } ?? []
    }

    /// A device may answer an operator that was added before it or after it. A second run changes nothing.
    @Test func aDeviceMayAnswerTheOperatorsOfItsTrackables() async throws {
        try await self.withFolder { folder in
            let script = """
                export GODWIT_PASSWORD=a-test-password
                ./add-device first van car; ./add-operator boss van; ./add-operator chief van car; ./add-device second van
                ./add-operator --topic-root acme boss van
                """
            let rules = try await self.script(script, in: folder)
            func answers(_ device: String) -> [String] {
                Self.section(device, of: rules).filter { $0.contains("/command/") }
            }
            #expect(
                answers("first") == [
                    "topic write tracking/van/command/boss", "topic write tracking/van/command/chief",
                    "topic write tracking/car/command/chief",
                ])
            #expect(
                Set(answers("second")) == [
                    "topic write tracking/van/command/boss", "topic write tracking/van/command/chief",
                ])
            #expect(!rules.contains("command/+"))
            #expect(try await self.script(script, in: folder) == rules)
        }
    }

    /// A gateway that reads commands may answer the operators of every trackable, in either order. Another gateway may
    /// not.
    @Test func aGatewayAnswersOperatorsWhereItReadsCommands() async throws {
        try await self.withFolder { folder in
            let script = """
                export GODWIT_PASSWORD=a-test-password
                ./add-operator boss van; ./add-gateway --commands gate; ./add-operator chief order:17; ./add-gateway plain
                if ./add-device --commands dev van; then exit 1; fi
                """
            // A user that may write positions, but is not a publisher.
            let other = "printf '%s\\n' '' 'user other' 'topic write tracking/van' >>acl.conf\n"
            let rules = try await self.script(other + script, in: folder)
            #expect(Self.section("other", of: rules) == ["topic write tracking/van"])
            #expect(
                Self.section("gate", of: rules).filter { $0.contains("/command") } == [
                    "topic read tracking/+/command", "topic write tracking/van/command/boss",
                    "topic write tracking/order=3A17/command/chief",
                ])
            #expect(
                Self.section("gate-live", of: rules).filter { $0.contains("command") } == [
                    "topic write tracking/+/command"
                ])
            func journeys(_ user: String) -> [String] {
                Self.section(user, of: rules).filter { $0.hasSuffix("/journey") || $0.hasSuffix("/estimate") }
            }
            let read = ["topic read tracking/+/journey", "topic read tracking/+/estimate"]
            #expect(journeys("gate-live") == read + ["topic write tracking/+/journey"])
            #expect(journeys("plain-live") == read && journeys("gate").isEmpty && journeys("plain").isEmpty)
            for user in ["plain", "plain-live"] {
                #expect(!Self.section(user, of: rules).contains { $0.contains("command") })
            }
            #expect(try await self.script(script, in: folder) == rules)
        }
    }

    /// The tools remove the wider lines that earlier versions wrote, and no others.
    @Test func theToolsReplaceTheWiderLinesOfEarlierVersions() async throws {
        try await self.withFolder { folder in
            let rules = try await self.script(
                """
                export GODWIT_PASSWORD=a-test-password
                printf '%s\\n' '' 'user dev' 'topic write tracking/van' 'topic write tracking/van/command/+' '' 'user eye' \
                    'topic read tracking/van/#' 'topic read tracking/bus/#' '' 'user rec' 'topic read tracking/#' '' \
                    'user rec-intake' 'topic read tracking/#' '' 'user other' 'topic read tracking/#' >>acl.conf
                ./add-operator boss van; ./add-device dev van; ./add-watcher eye van; ./add-recorder rec
                """, in: folder)
            #expect(
                Self.section("dev", of: rules).filter { $0.contains("command/") } == [
                    "topic write tracking/van/command/boss"
                ])
            #expect(Self.section("eye", of: rules).filter { $0.hasSuffix("#") } == ["topic read tracking/bus/#"])
            #expect(Self.section("eye", of: rules).contains("topic read tracking/van/event"))
            for user in ["rec", "rec-intake"] {
                #expect(Self.section(user, of: rules).joined(separator: "\n").hasPrefix(Self.readLines))
                #expect(!Self.section(user, of: rules).contains("topic read tracking/#"))
            }
            #expect(Self.section("other", of: rules) == ["topic read tracking/#"])
        }
    }

    @Test(arguments: ["elevenbytes", "pw", ""]) func aShortPasswordIsRefused(password: String) async throws {
        try await self.withFolder { folder in
            let rules = try await self.script("", in: folder)
            for tool in ["add-device dev van", "add-watcher eye van", "add-recorder rec", "add-operator boss van"] {
                try await self.script(
                    "if echo '\(password)' | ./\(tool.replacing(" ", with: " --password-stdin ", maxReplacements: 1)); then exit 1; fi",
                    in: folder)
            }
            if !password.isEmpty {
                try await self.script("if GODWIT_PASSWORD=\(password) ./add-gateway gate; then exit 1; fi", in: folder)
            }
            #expect(try await self.script("", in: folder) == rules, "nothing was added")
            try await self.script("GODWIT_PASSWORD=twelve-bytes ./add-gateway gate", in: folder)
        }
    }

    /// A broker that uses the user name as the client id lets two connections with one user end each other. The error
    /// names the missing option.
    @Test func aMissingUserOfASecondConnectionIsNamed() async throws {
        try await self.withFiles(.password) { broker, folder in
            func start(_ user: String, _ arguments: [String]) throws -> RunningProgram {
                try Programs.start(
                    "godwit",
                    arguments + [
                        "--broker", "mqtts://\(user)@localhost:\(broker.port)", "--ca",
                        folder.appending(path: "certs/ca.crt").path(),
                    ], environment: ["GODWIT_PASSWORD": "a-test-password"])
            }
            let history = "sqlite:\(folder.appending(path: "h.sqlite").path())"
            let state = ["--state", folder.appending(path: "state").path()]
            let recorder = try start("rec", ["record", "--store", history])
            let gateway = try start("gate", ["serve", "--listen", "127.0.0.1:0", "--no-store"] + state)
            try await recorder.waitForLog("Give --intake-user rec-intake (broker/add-recorder makes that user)")
            try await gateway.waitForLog("Give --live-user gate-live (broker/add-gateway makes that user)")
            for program in [recorder, gateway] {
                program.terminate()
                _ = try await program.result(within: .seconds(60))
            }
        }
    }

    @Test(arguments: [["serve"], ["bridge", "owntracks"]]) func aMissingFileOfKeysIsNamed(command: [String])
        async throws
    {
        try await self.withFolder { folder in
            let path = folder.path() + "/keys.json"
            let result = try await Programs.run(
                "godwit", command + ["--owntracks-keys", path, "--state", folder.path() + "-state"])
            try? FileManager.default.removeItem(atPath: folder.path() + "-state")
            #expect(result.code == 66)
            #expect(result.errors.contains("cannot read '\(path)': No such file or directory"), "\(result.errors)")
        }
    }

    /// The service recipe of the README and the compose file: the broker's user may read its own key, but neither the
    /// key of the CA nor those of clients.
    @Test(.enabled(if: getuid() == 0, "it changes owners")) func theBrokerDoesNotReadTheKeyOfTheAuthority() async throws
    {
        let root = Programs.root
        let readme = try String(contentsOf: root.appending(path: "broker/README.md"), encoding: .utf8)
        let recipe = readme.components(separatedBy: "\n").filter {
            $0.hasPrefix("    cp -r broker /etc/godwit-broker") || $0.hasPrefix("    chown -R mosquitto: ")
        }
        #expect(recipe.count == 2)
        try await self.withFolder { folder in
            try await self.script(
                """
                certs/generate.sh ca; certs/generate.sh server localhost
                GODWIT_PASSWORD=a-test-password ./add-device dev van; ./add-watcher --cert desk van
                mkdir ../'\(folder.lastPathComponent)-installed'; cd ../'\(folder.lastPathComponent)-installed'
                chmod 755 .; cp -r '\(folder.path())' broker
                \(recipe.joined(separator: "\n").replacing("/etc/godwit-broker", with: "installed"))
                for file in acl.conf passwords certs/server.key certs/server.crt certs/ca.crt certs/ca.crl; do
                    runuser -u mosquitto -- cat $file >/dev/null
                done
                for file in certs/ca.key certs/clients/desk.key; do
                    if runuser -u mosquitto -- cat $file >/dev/null 2>&1; then exit 1; fi
                done
                runuser -u mosquitto -- touch data/mosquitto.db
                """, in: folder)
            try FileManager.default.removeItem(atPath: folder.path() + "-installed")
        }
        let compose = try String(contentsOf: root.appending(path: "docker-compose.yml"), encoding: .utf8)
        #expect(compose.contains("- /dev/null:/mosquitto/config/certs/ca.key:ro\n"))
        #expect(compose.contains("tmpfs:\n      - /mosquitto/config/certs/clients\n"))
    }

    /// The steps of the README that allow shared subscriptions to recorders only.
    @Test func theDynamicSecurityPluginRefusesSharedSubscriptions() async throws {
        let readme = try String(contentsOf: Programs.root.appending(path: "broker/README.md"), encoding: .utf8)
        let steps = try #require(
            readme.components(separatedBy: "```dynsec\n").dropFirst().first?.components(separatedBy: "```")[0])
        try await self.withFolder { folder in
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let file = folder.appending(path: "dynamic-security.json").path()
            try await ChildProcess.run(
                "/usr/bin/mosquitto_ctrl", ["dynsec", "init", file, "admin", "a-test-password"])
            try await ChildProcess.run("/bin/chmod", ["-R", "a+rwX", folder.path()])
            let broker = try await MosquittoProcess.start { port, _ in
                """
                listener \(port) 127.0.0.1
                allow_anonymous false
                plugin /usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so
                plugin_opt_config_file \(file)
                """
            }
            try await ChildProcess.run(
                "/bin/sh",
                [
                    "-ec",
                    """
                    ctrl() { mosquitto_ctrl -h 127.0.0.1 -p \(broker.port) -u admin -P a-test-password dynsec "$@"; }
                    SECRET=0123456789abcdef
                    ctrl createClient keeper-intake -p a-test-password; ctrl createClient eye -p a-test-password
                    \(steps)
                    """,
                ])
            func answer(_ user: String, _ filter: String) async throws -> TrackingError? {
                var configuration = MQTTConfiguration(
                    endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: try ClientID(user))
                configuration.credentials = MQTTCredentials(user: user, password: "a-test-password")
                let client = try MQTTClient(configuration: configuration)
                var refusal: TrackingError?
                try await self.with(client) {
                    do { try await client.withSubscription(to: [filter]) { _ in } } catch let error as TrackingError {
                        refusal = error
                    }
                }
                return refusal
            }
            #expect(try await answer("eye", "tracking/van") == nil)
            #expect(try await answer("eye", "$share/team/tracking/+")?.code == .notAuthorized)
            #expect(try await answer("eye", "$share/0123456789abcdef/tracking/+")?.code == .notAuthorized)
            #expect(try await answer("keeper-intake", "$share/0123456789abcdef/tracking/+") == nil)
            #expect(try await answer("keeper-intake", "$share/team/tracking/+")?.code == .notAuthorized)
            withExtendedLifetime(broker) {}
        }
    }
}
