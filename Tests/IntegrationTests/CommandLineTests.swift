import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingStore

/// The command line as people use it: tables on terminals, misspelt names, the version and shell completions.
@Suite(.timeLimit(.minutes(5))) struct CommandLineTests {
    // MARK: - Tables

    private static let program = Programs.root.appending(path: ".build/debug/godwit").path()

    @Test(arguments: [
        ("last", 80, ["trackable", "age", "position", "speed"]),
        ("last", 120, ["trackable", "age", "position", "speed", "time", "bearing", "battery"]),
        ("trackables", 80, ["trackable", "age", "last position"]),
        ("trackables", 120, ["trackable", "age", "last position", "first point", "streams"]),
        ("trips van-7", 80, ["start", "kind", "duration", "distance", "average", "top"]),
        ("trips van-7", 120, ["start", "kind", "duration", "distance", "average", "top", "from"]),
        ("history van-7", 80, ["time", "position", "speed", "altitude", "bearing"]),
        ("history van-7", 120, ["time", "position", "speed", "altitude", "bearing", "accuracy", "number"]),
        ("token list", 80, ["number", "name", "state", "publishes", "reads", "admin"]),
        ("fence list", 80, ["name", "shape", "center"]),
    ])
    func aTableFitsTheTerminalAndCutsNoNumber(command: String, columns: Int, headings: [String]) async throws {
        let fleet = try await Fleet()
        let piped = try await fleet.run(command.split(separator: " ").map(String.init))
        #expect(piped.code == 0, "\(piped.errors)")
        let environment = fleet.environment.map { "\($0)=\($1)" }
        let arguments = command.split(separator: " ").map(String.init)
        let terminal = try await Tmux(
            columns: columns, rows: 40, "/usr/bin/env", environment + [Self.program] + arguments)
        let screen = Array(try await terminal.wait { $0.contains("ended") }.prefix { $0 != "ended" })
        let text = screen.joined(separator: "\n")
        #expect(screen.count == piped.lines.count, "no line is wrapped: \(text)")
        #expect(screen.allSatisfy { $0.count <= columns })
        for heading in headings { #expect(screen[0].contains(heading), "\(heading): \(screen[0])") }
        for (shown, whole) in zip(screen, piped.lines) {
            let words = Set(whole.split(separator: " "))
            for word in shown.split(separator: " ") where !word.hasSuffix("…") {
                #expect(words.contains(word), "\(word) is cut: \(text)")
            }
        }
    }

    // MARK: - Misspelt names

    @Test(arguments: [
        ["verify", "vna-7"], ["history", "vna-7"], ["trips", "vna-7"], ["last", "vna-7"],
        ["replay", "vna-7", "--as", "copy", "--broker", "mqtt://127.0.0.1:1"], ["share", "vna-7", "--for", "2h"],
    ])
    func anUnknownTrackableIsAnErrorThatNamesTheSimilarOnes(command: [String]) async throws {
        let fleet = try await Fleet()
        let result = try await fleet.run(command)
        #expect(result.code == 1 && result.output.isEmpty, "\(result.output)")
        #expect(result.errors.contains("vna-7") && result.errors.contains("Did you mean van-7?"), "\(result.errors)")
    }

    /// A watcher of a misspelt id leaves a presence in the history, of which nothing can be complete.
    @Test func ofAWatchedTrackableWithoutRecordsNothingIsComplete() async throws {
        let fleet = try await Fleet()
        for command in [["verify", "van-77"], ["share", "van-77", "--for", "2h"]] {
            let result = try await fleet.run(command)
            #expect(result.code == 1 && result.output.isEmpty, "\(result.output)")
            #expect(result.errors.contains("Did you mean van-7?"), "\(result.errors)")
        }
    }

    @Test func aLinkIsMadeOfAKnownTrackableOrOnRequest() async throws {
        let fleet = try await Fleet()
        #expect(try await fleet.run(["share", "vna-7", "--for", "2h"]).code == 1)
        #expect(try await fleet.run(["share", "list"]).output.isEmpty)
        for arguments in [["van-7"], ["new", "--yes"], ["labelled"], ["phone"]] {
            let link = try await fleet.run(["share", "--for", "2h"] + arguments)
            #expect(link.output.hasPrefix("http://127.0.0.1:8080/s/gs_"), "\(arguments): \(link.errors)")
        }
        let elsewhere = try await Programs.run(
            "godwit", ["share", "vna-7", "--for", "2h"], environment: ["GODWIT_STATE": fleet.path("other")])
        #expect(
            elsewhere.code == 0 && elsewhere.errors.contains("cannot check that the trackable vna-7 exists"),
            "\(elsewhere.errors)")
    }

    @Test func anUnknownIDThatResemblesASubcommandIsNotShared() async throws {
        let fleet = try await Fleet()
        let other = ["GODWIT_STATE": fleet.path("other")]
        for result in [
            try await fleet.run(["share", "lits", "--for", "2h"]),
            try await Programs.run("godwit", ["share", "lits", "--for", "2h"], environment: other),
        ] {
            #expect(result.code == 1 && result.output.isEmpty, "\(result.output)")
            #expect(result.errors.contains("Did you mean godwit share list?"), "\(result.errors)")
        }
        let asked = try await fleet.run(["share", "lits", "--for", "2h", "--yes"])
        #expect(asked.code == 0 && asked.output.contains("/s/gs_"), "\(asked.errors)")
        let bare = try await fleet.run(["share", "lits"])
        #expect(bare.code == 64 && bare.errors.contains("Did you mean godwit share list?"), "\(bare.errors)")
    }

    @Test func aLabelAndARuleForAnUnknownTrackableGetAWarning() async throws {
        let fleet = try await Fleet()
        for command in [
            ["trackables", "set", "van-8", "name=Next"],
            ["rule", "add", "late", "--silent", "10m", "--trackable", "vna-7"],
        ] {
            let result = try await fleet.run(command)
            #expect(result.code == 0 && result.errors.contains("Warning: no position of"), "\(result.errors)")
            #expect(result.errors.contains("Did you mean van-7"), "\(result.errors)")
        }
        let known = try await fleet.run(["rule", "add", "slow", "--silent", "10m", "--trackable", "van-7"])
        #expect(known.code == 0 && known.errors.isEmpty, "\(known.errors)")
    }

    @Test func anErasureOfAnUnknownTrackableNamesTheSimilarOnes() async throws {
        let fleet = try await Fleet()
        let unasked = try await fleet.run(["erase", "vna-7"])
        #expect(unasked.code == 64 && unasked.errors.contains("Did you mean van-7?"), "\(unasked.errors)")
    }

    // MARK: - The programs

    @Test(arguments: ["godwit", "godwit-agent"]) func theVersionIsPrinted(program: String) async throws {
        let result = try await Programs.run(program, ["--version"])
        #expect(result.output.wholeMatch(of: #/\d+\.\d+\.\d+( \([0-9a-f]{7,12}\))?\n/#) != nil, "\(result.output)")
        let changes = try String(contentsOf: Programs.root.appending(path: "CHANGELOG.md"), encoding: .utf8)
        let newest = try #require(changes.firstMatch(of: #/\n## (\d+\.\d+\.\d+)/#)).1
        #expect(result.output.hasPrefix(newest))
    }

    @Test(arguments: [
        (["wacth", "van"], "godwit has no command 'wacth'. Did you mean watch?"),
        (["watch", "van", "--resolutoin", "x"], "Unknown option '--resolutoin'. Did you mean '--resolution'?"),
    ])
    func aMisspeltWordIsNamedWithTheSimilarOne(arguments: [String], message: String) async throws {
        let result = try await Programs.run("godwit", arguments)
        #expect(result.code == 64 && result.errors.hasPrefix("Error: \(message)\n"), "\(result.errors)")
    }

    @Test(arguments: [
        (["watch", "van", "--all"], "the ids of trackables and --all exclude each other. Leave one of them out"),
        (["watch", "van", "--timeout", "1e9"], "--timeout must be above 0 and below 1e9 seconds, not 1000000000.0"),
        (["history", "van", "--max-points", "-1"], "must be 2 to 1000000, not -1"),
        (["send", "report", "van", "--timeout", "-1"], "--timeout must be above 0 and at most 3600 seconds, not -1.0"),
        (
            ["forward", "--to", "overland+http://127.0.0.1:1/", "--only", "a", "--except", "a"],
            "--only and --except both name a. Leave one of them out"
        ),
        (["forward", "--to", "overland+http://127.0.0.1:99999/"], "must have a port from 1 to 65535"),
    ])
    func aWrongValueIsNamedWithTheRule(arguments: [String], message: String) async throws {
        let result = try await Programs.run("godwit", arguments)
        #expect(result.code == 64 && result.errors.contains(message), "\(result.errors)")
    }

    /// Ids on the command line have precedence over the file, as for every other option.
    @Test func idsHavePrecedenceOverTheFilesKeyAll() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-watch-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "godwit.yaml")
        try "watch: {all: true}\n".write(to: file, atomically: true, encoding: .utf8)
        let broker = try await MosquittoProcess.start()
        for id in ["van", "bus"] {
            let position =
                #"{"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[8,47]},"properties":{"time":1700000000}}}"#
            try await ChildProcess.run(
                "/usr/bin/env",
                ["mosquitto_pub", "-p", "\(broker.port)", "-q", "1", "-r", "-t", "tracking/\(id)", "-m", position])
        }
        let result = try await Programs.run(
            "godwit",
            ["watch", "van", "--config", file.path(), "--broker", broker.url, "--format", "json", "--timeout", "2"])
        #expect(
            result.code == 0 && result.output.contains("\"van\"") && !result.output.contains("\"bus\""),
            "\(result.output)\(result.errors)")
    }

    @Test func theInstalledCompletionsCompleteCommandsAndOptions() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "godwit-install-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let install = Programs.root.appending(path: "packaging/install-programs").path()
        let folder = Programs.root.appending(path: ".build/debug").path()
        let installed = try await RunningProgram(install, [folder, root.path()]).result()
        #expect(
            installed.code == 0 && installed.output == "installed: godwit, godwit-agent, godwit-roads\n",
            "\(installed.errors)")
        for file in ["zsh/vendor-completions/_godwit", "fish/vendor_completions.d/godwit-agent.fish"] {
            let text = try String(contentsOf: root.appending(path: "usr/share/\(file)"), encoding: .utf8)
            #expect(text.contains("godwit"), "\(file)")
        }
        let script = root.appending(path: "usr/share/bash-completion/completions/godwit").path()
        for (words, completion) in [(["godwit", "wat"], "watch"), (["godwit", "last", "--uni"], "--units")] {
            let line = words.map { "'\($0)'" }.joined(separator: " ")
            let complete = """
                source '\(script)'
                COMP_WORDS=(\(line)) COMP_CWORD=\(words.count - 1) COMP_LINE='\(words.joined(separator: " "))'
                COMP_POINT=${#COMP_LINE}
                _godwit godwit '\(words[words.count - 1])' '\(words[words.count - 2])'
                printf '%s\\n' "${COMPREPLY[@]}"
                """
            let found = try await RunningProgram("/bin/bash", ["--norc", "-c", complete]).result()
            #expect(found.lines.map { $0.trimmingCharacters(in: .whitespaces) } == [completion], "\(found.errors)")
        }
        let version = try await RunningProgram(root.appending(path: "usr/bin/godwit").path(), ["--version"]).result()
        #expect(version.code == 0)
        let none = try await RunningProgram(install, [root.path(), root.path()]).result()
        #expect(none.code == 66 && none.errors.contains("make release"), "\(none.errors)")
    }
}

/// A history with several trackables, and the files of a gateway.
private final class Fleet: Sendable {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-fleet-\(UUID().uuidString)")
    var environment: [String: String] {
        ["GODWIT_STORE": "sqlite:\(self.path("history.sqlite"))", "GODWIT_STATE": self.path("state"), "TZ": "UTC-2"]
    }

    init() async throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let store = try SQLiteHistoryStore(path: self.path("history.sqlite"))
        var batch = RecordingBatch()
        batch.recordings = [
            try Self.drive("van-7"), try Self.drive("a-delivery-of-the-morning-in-the-old-town-17"),
        ]
        var watched = Recording(of: try TrackableID("van-77"), at: UnixTime(1_790_000_000))
        watched.state = StateChange("subscriber/desk", json: Array("{}".utf8))
        batch.recordings.append(watched)
        _ = try await store.store(batch)
        try await store.close()
        for command in [
            ["trackables", "set", "labelled", "name=A name"],
            ["token", "create", "--name", "phone", "--publish", "phone"],
            ["fence", "add", "depot", "--circle", "52.66,-8.63", "--radius", "100"],
        ] {
            let result = try await self.run(command)
            #expect(result.code == 0, "\(result.errors)")
        }
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    func path(_ name: String) -> String { self.folder.appending(path: name).path() }

    func run(_ arguments: [String]) async throws -> Programs.Result {
        try await Programs.run("godwit", arguments, environment: self.environment)
    }

    /// Returns a drive of ten minutes with every value, and a trip.
    private static func drive(_ name: String) throws -> Recording {
        let one = try #require(StreamID("one"))
        var recording = Recording(of: try TrackableID(name), at: UnixTime(1_790_000_600))
        recording.points = try stride(from: 0, to: 600, by: 30).map { second in
            let place = Coordinate(latitude: -33.9 + Double(second) * 1e-4, longitude: 151.21234)
            var point = Location(coordinate: try #require(place), time: UnixTime(1_790_000_000 + Double(second)))
            (point.stream, point.seq) = (one, UInt64(second / 30 + 1))
            (point.speed, point.bearing, point.altitude) = (33, 359, -12)
            (point.accuracyHorizontal, point.batteryLevel) = (4.9, 0.8)
            return point
        }
        var trip = Trip(id: "trip-1", mode: "car", start: UnixTime(1_790_000_000), stream: one, seq: 21)
        (trip.state, trip.end, trip.distance, trip.duration) = (.ended, UnixTime(1_790_000_600), 8900, 600)
        (trip.startLocation, trip.lastLocation) = (recording.points.first, recording.points.last)
        recording.trips = [RecordedDocument(trip, json: MessageCodec.encode(trip))]
        return recording
    }
}
