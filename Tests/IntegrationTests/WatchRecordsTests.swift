import Foundation
import TestSupport
import Testing

/// Trips and events, from a device to `godwit watch`, and the watcher's report when it receives nothing.
@Suite(.serialized, .timeLimit(.minutes(10))) struct WatchRecordsTests {
    /// A courier that begins a trip when it moves.
    private func courier(_ broker: MosquittoProcess, battery: URL) throws -> RunningProgram {
        try "50".write(to: battery, atomically: true, encoding: .utf8)
        return try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--broker", broker.url, "--source", "simulate:", "--speed", "10",
                "--battery", "file:\(battery.path())", "--low-battery", "20", "--default-resolution", "HIGH/200/0",
                "--automatic-trips", "car", "--pause-radius", "10",
            ])
    }

    /// The signs of a current trip and of a low battery.
    private static let signs = [
        "text": ["van-7 trip ACTIVE car ", "van-7 event LOW_BATTERY {"],
        "json": [#""event":"trip","trackable":"van-7","#, #""kind":"LOW_BATTERY""#],
        "geojson": [#""properties":{"event":"trip","tripId":"#, #""kind":"LOW_BATTERY""#],
        "csv": [",trip,ACTIVE,", ",event,LOW_BATTERY,"],
    ]

    @Test func tripsAndEventsAreShownInEachFormat() async throws {
        let broker = try await MosquittoProcess.start()
        let battery = broker.directory.appending(path: "battery")
        let agent = try self.courier(broker, battery: battery)
        let first = try Programs.start("godwit", ["watch", "van-7", "--broker", broker.url])
        try await first.wait(for: "van-7 trip ACTIVE car ")
        #expect(first.output.contains("van-7 event TRIP_STARTED {"))
        // Later watchers receive the current trip at once.
        let terminal = try TestTerminal(columns: 130, rows: 20)
        let table = try Programs.start(
            "godwit", ["watch", "van-7", "--broker", broker.url], environment: ["TERM": "xterm"], terminal: terminal)
        try await terminal.wait { $0.contains { $0.hasPrefix("van-7 ") && $0.contains(" car") } }
        var watches: [String: RunningProgram] = [:]
        for format in Self.signs.keys {
            watches[format] = try Programs.start(
                "godwit", ["watch", "van-7", "--broker", broker.url, "--format", format])
        }
        for (format, watch) in watches { try await watch.wait(for: Self.signs[format]?[0] ?? "") }
        try "10".write(to: battery, atomically: true, encoding: .utf8)
        for (format, watch) in watches {
            try await watch.wait(for: Self.signs[format]?[1] ?? "")
            let result = try await watch.end()
            #expect(result.code == 0, "\(format): \(result.errors)")
            let event = Self.signs[format]?[1] ?? ""
            #expect(result.lines.count { $0.contains(event) } == 1, "\(format): an event is printed once")
        }
        try await terminal.wait { $0.contains { $0.contains(" van-7 LOW_BATTERY {") } }
        for program in [table, first, agent] { #expect(try await program.end().code == 0) }
    }

    /// Mosquitto grants the subscription, but delivers nothing.
    @Test func aWatcherWithoutTheRightToReadReportsThatItReceivesNothing() async throws {
        let broker = try await MosquittoProcess.start { port, folder in
            let access = folder.appending(path: "acl")
            let rules = "topic readwrite tracking/_clients/#\ntopic write tracking/#\ntopic read tracking/bike/#\n"
            try rules.write(to: access, atomically: true, encoding: .utf8)
            return "listener \(port) 127.0.0.1\nallow_anonymous true\nacl_file \(access.path())"
        }
        let agents = try ["van-7", "bike"].map { id in
            try Programs.start(
                "godwit-agent",
                ["run", "--trackable", id, "--broker", broker.url, "--source", "simulate:", "--battery", "none"])
        }
        let watch = try Programs.start("godwit", ["watch", "van-7", "bike", "--broker", broker.url, "--silent"])
        try await watch.wait(for: "bike location ")
        try await watch.waitForLog("Nothing received", within: .seconds(60))
        // On a loaded machine, the bike may publish so late that it is reported too.
        try await watch.waitForLog("trackable=van-7")
        let reports = watch.errors.split(separator: "\n").filter { $0.contains("Nothing received") }
        #expect(reports.count { $0.contains("trackable=van-7") } == 1, "\(reports)")
        for program in [watch] + agents { try await program.end() }
    }
}
