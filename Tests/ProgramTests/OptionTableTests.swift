import ArgumentParser
import Foundation
import Testing

@testable import GodwitOptions
@testable import godwit
@testable import godwit_agent

/// Every option of both programs means the same on the command line, in the environment and in the file.
@Suite struct OptionTableTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let option: String
        /// `nil` for a flag.
        let value: String?
        var testDescription: String { self.option }
    }

    private static let broker: [(String, String?)] = [
        ("broker", "mqtts://me@broker.example.org"), ("password-file", "/etc/godwit/password"), ("password", "a,b"),
        ("password-command", "vault read van-7"),
        ("client-id", "box-1"), ("topic-root", "acme/eu"), ("ca", "/etc/ca.crt"), ("cert", "/etc/me.crt"),
        ("key", "/etc/me.key"), ("fail-fast", nil), ("log-level", "debug"), ("subscription-qos", "0"),
    ]

    static let run = Self.rows(
        Self.broker + [
            ("trackable", "order:17, left"), ("source", "nmea:/dev/ttyS1#accuracy=LOW,cycle=keep"), ("speed", "2"),
            ("default-resolution", "LOW/60000/0"), ("sensor-resolution", "HIGH/1000/0"), ("raw", nil),
            ("predict", "30"),
            ("battery", "fixed:55"), ("destination", "-33.9,18.4"), ("proximity", "500"), ("arrival", "120"),
            ("resolution", "HIGH/1000/1"), ("resolution-far", "LOW/60000/100"),
            ("resolution-far-watched", "BALANCED/10000/20"), ("resolution-near", "BALANCED/10000/20"),
            ("resolution-near-watched", "HIGH/1000/1"), ("battery-threshold", "20"), ("low-battery-multiplier", "2.5"),
            ("floor", "HIGH/1000/0"), ("ceiling", "LOW/60000/100"), ("filter", "either"), ("maximum-silence", "90"),
            ("metadata", "bike 3, blue"), ("send-resolution", "off"), ("remain-present", "15"), ("lease", "300"),
            ("spool", "memory"), ("durability", "normal"), ("batch-size", "500"), ("batch-window", "off"),
            ("acknowledge-by", "keeper"), ("keep-points", "5000"), ("keep-bytes", "1000000"), ("keep-days", "0.5"),
            ("on-collision", "clear"), ("profile", "overland"), ("mode", "active"), ("desired-accuracy", "100"),
            ("minimum-distance", "5"), ("minimum-time", "2"), ("maximum-accuracy-radius", "50"),
            ("significant-change", "only"), ("activity", "fitness"), ("pause", "on"), ("pause-radius", "30"),
            ("pause-after", "60"), ("visits", nil), ("zone", "home,52,-8,100"), ("mock", "reject"),
            ("low-battery", "15"), ("automatic-trips", "car"), ("tracking-stats", nil), ("wifi", nil),
            ("defer", "500"), ("live", "off"), ("notify", "/usr/local/bin/tell --by mail"),
            ("socket", "/run/me.sock"), ("metrics-file", "/var/lib/godwit.prom"), ("allow-commands", nil),
            ("allow-commands", "unrestricted"), ("forward", "overland+https://example.org/a"),
            ("token-file", "/etc/token"), ("secret-file", "/etc/secret"),
        ])

    static let watch = Self.rows(
        Self.broker + [
            ("all", nil), ("format", "geojson"), ("resolution", "HIGH/1000/1"), ("silent", nil), ("enhanced", nil),
            ("count", "3"), ("timeout", "4.5"), ("skipped", nil), ("units", "nautical"), ("since", "10m"),
            ("store", "sqlite:/var/lib/godwit/history.sqlite"),
        ])

    static let enhance = Self.rows(
        Self.broker + [
            ("engine", "valhalla:http://127.0.0.1:8002"), ("profile", "truck"), ("only", "van"), ("except", "car"),
            ("group", "fleet"), ("listen", "127.0.0.1:0"),
        ])

    private static let place: [(String, String?)] = [("store", "postgres://me@db.example.org/tracks")]
    private static let span: [(String, String?)] = [
        ("from", "2026-05-04T09:30:00Z"), ("to", "2026-05-04T10:30:00+01:00"), ("last", "1h30m"),
    ]

    /// The commands on the history: their arguments, and their options.
    static let history: [HistoryCase] = [
        HistoryCase(
            History.self, ["history", "van", "--engine", "valhalla:http://127.0.0.1:1"],
            Self.place + Self.span + [
                ("bbox", "-8.7,52.6,-8.5,52.7"), ("trip", "abc"), ("max-points", "100"), ("format", "kml"),
                ("output", "/tmp/van.kml"), ("units", "imperial"), ("matched", nil),
                ("engine", "valhalla:http://127.0.0.1:8002"),
            ]),
        HistoryCase(
            Last.self, ["last", "van", "--near", "-33.9,18.4", "--within", "500"],
            Self.place + [("format", "json"), ("near", "52,-8"), ("within", "100"), ("units", "nautical")]),
        HistoryCase(Trackables.List.self, ["trackables", "list"], Self.place + [("format", "json")]),
        HistoryCase(
            Trips.self, ["trips", "van"],
            Self.place + Self.span + [
                ("stop-radius", "50"), ("stop-time", "60"), ("format", "json"), ("units", "imperial"),
                ("engine", "valhalla:http://127.0.0.1:8002"),
            ]),
        HistoryCase(
            Import.self, ["import", "van.gpx", "--trackable", "van"],
            Self.place + [("trackable", "bus"), ("format", "csv")]),
        HistoryCase(Export.self, ["export", "points"], Self.place + Self.span),
        HistoryCase(Verify.self, ["verify", "van"], Self.place + [("format", "json")]),
        HistoryCase(
            Erase.self, ["erase", "van"],
            Self.broker + Self.place + Self.state + [("before", "90d"), ("yes", nil)]),
        HistoryCase(Backup.self, ["backup", "copy.sqlite"], Self.place),
        HistoryCase(
            Forward.self, ["forward", "--to", "overland+https://example.org/a"],
            Self.place + [
                ("to", "mqtts://me@broker.example.org#password-file=/etc/password"), ("token-file", "/etc/token"),
                ("secret-file", "/etc/secret"),
                ("batch-size", "50"), ("once", nil), ("only", "van"), ("except", "bus"), ("listen", "127.0.0.1:0"),
                ("log-level", "debug"),
            ]),
        HistoryCase(
            Replay.self, ["replay", "van", "--as", "bus"],
            Self.broker + Self.place + Self.span + [("speed", "10x"), ("as", "tram")]),
    ]

    static let record = Self.rows(
        Self.broker + [
            ("store", "postgres://me@db.example.org/tracks"), ("name", "keeper"), ("intake-user", "keeper-in"),
            ("intake-cert", "/etc/in.crt"), ("intake-key", "/etc/in.key"), ("share", "team"), ("keep", "van-7=30d"),
            ("share-secret-file", "/etc/godwit/share"), ("share-secret", "0123456789abcdef"),
            ("receive-maximum", "100"), ("listen", "127.0.0.1:0"), ("housekeeper", nil), ("standby", nil),
        ])

    private static let credentials: [(String, String?)] = [
        ("credential-issuer", "dynsec"), ("credential-control", "mqtts://admin@broker.example.org"),
        ("credential-password-file", "/etc/godwit/admin"), ("credential-key-file", "/etc/godwit/key"),
    ]

    private static let served = Self.broker + Self.place + Self.state + Self.credentials

    private static let state: [(String, String?)] = [("state", "/var/lib/godwit")]

    /// The gateway and the commands on it.
    static let gateway: [HistoryCase] = [
        HistoryCase(
            Serve.self, ["serve"],
            Self.served + [
                ("allow-commands", nil),
                ("listen", "[::1]:0"), ("url", "https://tracks.example.org"), ("cors", "https://shop.example.org"),
                ("rate-limit", "5"), ("max-body", "2048"), ("trackables", "100000"), ("no-store", nil),
                ("acknowledge-by", "keeper"),
                ("overland-path", "/api/locations"), ("owntracks-keys", "/etc/godwit/keys.json"),
                ("agent-broker", "mqtts://broker.example.org"), ("operator-name", "Parcels"),
                ("operator-logo", "/etc/godwit/logo.png"), ("leaflet", "/opt/leaflet"),
                ("tiles", "https://tiles.example.org/{z}/{x}/{y}.png"),
                ("mbtiles", "/srv/land.mbtiles"), ("engine", "valhalla:http://127.0.0.1:8002"),
                ("live-user", "gateway-live"),
                ("webhook", "https://example.org/hook"), ("webhook-secret-file", "/etc/hook"),
                ("webhook-secret", "0123456789abcdef"), ("webhook-kinds", "event"),
            ]),
        HistoryCase(
            Bridge.OwnTracks.self, ["bridge", "owntracks"],
            Self.broker + Self.state + [
                ("owntracks-root", "acme/owntracks"), ("map", "/etc/godwit/devices.json"),
                ("owntracks-keys", "/etc/godwit/keys.json"), ("out", "godwit"), ("home-assistant", nil),
                ("user-per-connection", nil), ("acknowledge-by", "keeper"),
            ]),
        HistoryCase(FenceCommand.List.self, ["fence", "list"], Self.state + [("format", "json")]),
        HistoryCase(FenceCommand.Remove.self, ["fence", "remove", "depot"], Self.state),
        HistoryCase(RuleCommand.List.self, ["rule", "list"], Self.state + [("format", "json")]),
        HistoryCase(RuleCommand.Remove.self, ["rule", "remove", "in"], Self.state),
        HistoryCase(Trackables.Set.self, ["trackables", "set", "van", "name=Van"], Self.place + Self.state),
        HistoryCase(
            Token.Create.self, ["token", "create", "--name", "phone", "--publish", "van"],
            Self.state + [
                ("name", "desk"), ("publish", "bus"), ("read", "bus"), ("read-group", "north"), ("read-all", nil),
                ("admin", nil), ("once", nil),
                ("expires", "90d"), ("rate-limit", "5"), ("max-body", "2048"),
            ]),
        HistoryCase(Token.List.self, ["token", "list"], Self.state + [("format", "json")]),
        HistoryCase(Token.Revoke.self, ["token", "revoke", "phone"], Self.state),
        HistoryCase(
            Share.Create.self, ["share", "create", "van", "--for", "2h"],
            Self.broker + Self.place + Self.state + [
                ("for", "3h"), ("stop", "4711"), ("url", "https://tracks.example.org"), ("yes", nil),
            ]),
        HistoryCase(Publishers.self, ["publishers", "van"], Self.broker + [("format", "json")]),
        HistoryCase(Share.List.self, ["share", "list"], Self.state + [("format", "json")]),
        HistoryCase(Share.Revoke.self, ["share", "revoke", "3"], Self.state),
        HistoryCase(
            Credentials.Issue.self,
            ["credentials", "issue", "--read", "van", "--for", "2h", "--credential-issuer", "dynsec"],
            Self.broker + Self.state + Self.credentials + [("read", "bus"), ("for", "3h")]),
        HistoryCase(Credentials.List.self, ["credentials", "list"], Self.state + [("format", "json")]),
        HistoryCase(
            Credentials.Revoke.self, ["credentials", "revoke", "app-1"],
            Self.broker + Self.state + Self.credentials),
    ]

    struct HistoryCase: Sendable, CustomTestStringConvertible {
        let command: any ParsableCommand.Type
        let arguments: [String]
        let rows: [Row]
        var testDescription: String { self.arguments[0] }

        init(_ command: any ParsableCommand.Type, _ arguments: [String], _ rows: [(String, String?)]) {
            self.command = command
            self.arguments = arguments
            self.rows = rows.map(Row.init)
        }
    }

    private static func rows(_ pairs: [(String, String?)]) -> [Row] { pairs.map(Row.init) }

    @Test func theTablesHaveEveryOption() throws {
        let tables = [
            (Self.run, Run.self as any ParsableCommand.Type), (Self.watch, Watch.self), (Self.record, Record.self),
            (Self.enhance, Enhance.self),
        ]
        for (rows, command) in tables + (Self.history + Self.gateway).map({ ($0.rows, $0.command) }) {
            let options = try LayeredArguments.options(of: command).map(\.name).filter { $0 != "config" }
            #expect(Set(rows.map(\.option)) == Set(options))
        }
    }

    @Test(arguments: OptionTableTests.run) func anOptionOfTheAgentIsTheSameInAllThreePlaces(row: Row) throws {
        var needed = [("trackable", "van"), ("source", "simulate:")].filter { $0.0 != row.option }
        if ["token-file", "secret-file"].contains(row.option) { needed.append(("forward", "webhook+https://a/b")) }
        try self.compare(row, ["run"] + needed.flatMap { ["--\($0)", $1] }, GodwitAgent.self)
    }

    @Test(arguments: OptionTableTests.watch) func anOptionOfWatchIsTheSameInAllThreePlaces(row: Row) throws {
        try self.compare(row, row.option == "all" ? ["watch"] : ["watch", "van"], Godwit.self)
    }

    @Test(arguments: OptionTableTests.record) func anOptionOfRecordIsTheSameInAllThreePlaces(row: Row) throws {
        try self.compare(row, ["record"], Godwit.self)
    }

    @Test(arguments: OptionTableTests.enhance) func anOptionOfEnhanceIsTheSameInAllThreePlaces(row: Row) throws {
        let engine = row.option == "engine" ? [] : ["--engine", "valhalla:http://127.0.0.1:1"]
        try self.compare(row, ["enhance"] + engine, Godwit.self)
    }

    @Test(arguments: OptionTableTests.history + OptionTableTests.gateway)
    func anOptionOnTheHistoryIsTheSameInAllThreePlaces(
        table: HistoryCase
    ) throws {
        for row in table.rows {
            // The command line would win over the other places.
            var base = table.arguments
            if let place = base.firstIndex(of: "--\(row.option)") { base.removeSubrange(place...(place + 1)) }
            try self.compare(row, base, Godwit.self)
        }
    }

    private func compare(_ row: Row, _ base: [String], _ root: any ParsableCommand.Type) throws {
        // A password belongs to a user.
        let user = row.option.hasPrefix("password") ? ["--broker", "mqtt://me@host"] : []
        let line = base + user + ["--\(row.option)"] + (row.value.map { [$0] } ?? [])
        let expected = try self.parse(line, [:], root)
        let variable = LayeredArguments.variable(row.option)
        #expect(try self.parse(base + user, [variable: row.value ?? "true"], root) == expected)
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml").path()
        defer { try? FileManager.default.removeItem(atPath: file) }
        let value = row.value.map { "'\($0)'" } ?? "true"
        try "\(row.option): \(value)\n".write(toFile: file, atomically: true, encoding: .utf8)
        #expect(try self.parse(base + user, ["GODWIT_CONFIG": file], root) == expected)
        let needed = [
            "trackable", "source", "all", "engine", "near", "within", "as", "name", "for", "publish", "to", "read",
            "credential-issuer",
        ]
        if !needed.contains(row.option) {
            #expect(try self.parse(base + user, [:], root) != expected)
        }
    }

    /// The command with everything that was parsed, as text.
    private func parse(
        _ arguments: [String], _ environment: [String: String], _ root: any ParsableCommand.Type
    ) throws -> String {
        let merged = try LayeredArguments.merge(arguments, environment: environment, for: root)
        var text = ""
        dump(try root.parseAsRoot(merged), to: &text)
        return text
    }

    @Test func aFileOfTheAgentIsNoneOfWatch() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml").path()
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "trackables:\n  - id: van\n".write(toFile: file, atomically: true, encoding: .utf8)
        #expect { try self.parse(["watch", "van", "--config", file], [:], Godwit.self) } throws: {
            "\($0)".contains("line 1: the key 'trackables' is unknown")
        }
        _ = try self.parse(["run", "--source", "simulate:", "--config", file], [:], GodwitAgent.self)
    }

    /// The file for all commands in docs/reference/configuration.md.
    @Test func theFileOfAFleetIsForEveryCommand() throws {
        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "../../docs/reference/configuration.md"), encoding: .utf8)
        let text = try #require(page.components(separatedBy: "```yaml\n")[1].components(separatedBy: "```").first)
        let home = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: home) }
        try FileManager.default.createDirectory(at: home.appending(path: "godwit"), withIntermediateDirectories: true)
        try text.write(to: home.appending(path: "godwit/godwit.yaml"), atomically: true, encoding: .utf8)
        let environment = ["XDG_CONFIG_HOME": home.path()]
        let watch = try self.parse(["watch", "van"], environment, Godwit.self)
        for part in ["mqtts://desk@broker.example.org", "postgres://me@db.example.org/tracks", "WatchFormat.json"] {
            #expect(watch.contains(part), "\(part)")
        }
        #expect(try self.parse(["serve"], environment, Godwit.self).contains("/var/lib/godwit"))
        for arguments in (Self.history + Self.gateway).map(\.arguments) + [
            ["record"], ["send", "report", "van"], ["demo"],
        ] {
            _ = try self.parse(arguments, environment, Godwit.self)
        }
        #expect(
            try self.parse(["verify", "van"], environment, Godwit.self).contains("postgres://me@db.example.org/tracks"))
    }

    /// The commands of docker-compose.yml are commands of the programs.
    @Test func theCommandsOfTheComposeFileAreValid() throws {
        let file = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "../../docker-compose.yml"), encoding: .utf8)
        let commands = file.components(separatedBy: "command: >\n").dropFirst().map { text in
            text.components(separatedBy: "\n").prefix { $0.hasPrefix("      ") }.joined(separator: " ")
                .split(separator: " ").map(String.init)
        }
        #expect(commands.map(\.first) == ["record", "serve", "enhance", "run", "watch"])
        for command in commands {
            let root: any ParsableCommand.Type = command.first == "run" ? GodwitAgent.self : Godwit.self
            _ = try self.parse(command, [:], root)
        }
    }

    @Test func aDestinationInTheSouthNeedsNoEqualsSign() throws {
        let base = ["run", "--trackable", "van", "--source", "simulate:"]
        let spaced = try self.parse(base + ["--destination", "-33.9,18.4"], [:], GodwitAgent.self)
        #expect(spaced == (try self.parse(base + ["--destination=-33.9,18.4"], [:], GodwitAgent.self)))
        #expect(spaced.contains("-33.9"))
    }
}
