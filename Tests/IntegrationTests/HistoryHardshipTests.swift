import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingStore

/// The commands under adverse conditions: the output cannot be written, or another program uses the history.
@Suite(.timeLimit(.minutes(5))) struct HistoryHardshipTests {
    /// The output cannot be written, mostly because of a full disk. The exit code tells scripts that there is no token,
    /// link or list.
    @Test func aResultThatCannotBePrintedIsAFailure() async throws {
        let broker = try await MosquittoProcess.start()
        try await Self.withFolder { folder in
            let file = folder.appending(path: "history.sqlite").path()
            let state = folder.appending(path: "gateway").path()
            let points = folder.appending(path: "points.csv").path()
            try "time,lat,lon\n2026-05-04T09:00:00Z,52,-8\n2026-05-04T09:00:01Z,52.1,-8\n"
                .write(toFile: points, atomically: true, encoding: .utf8)
            let fence = ["fence", "add", "yard", "--circle", "52,-8", "--radius", "100"]
            let rule = ["rule", "add", "late", "--silent", "10m"]
            let environment = ["GODWIT_STORE": "sqlite:\(file)", "GODWIT_STATE": state]
            let commands = [
                ["import", points, "--trackable", "van"], ["history", "van"], ["last"], ["trackables"],
                ["trips", "van"], ["verify", "van"], ["trackables", "set", "van", "name=Van 7"],
                ["token", "create", "--name", "phone", "--read-all"], ["token", "list"],
                ["share", "van", "--for", "2h"],
                ["share", "list"], fence, ["fence", "list"], rule, ["rule", "list"],
                ["erase", "van", "--yes", "--broker", broker.url],
            ]
            for command in commands {
                let program = try RunningProgram(
                    executable: Programs.root.appending(path: ".build/debug/godwit"), arguments: command,
                    environment: environment, input: "/dev/null", terminal: "/dev/full")
                let result = try await program.result(within: .seconds(60))
                if [fence, rule].contains(command) {
                    #expect(result.code == 0, "it says nothing: \(result.errors)")
                } else {
                    #expect(result.code == 74, "\(command): \(result.errors)")
                    #expect(result.errors.contains("cannot write to standard output"), "\(command)")
                }
            }
            // The points were erased, although the report could not be written.
            let gone = try await Programs.run("godwit", ["history", "van"], environment: environment)
            #expect(gone.code == 1 && gone.errors.contains("the history has no record of van"), "\(gone.errors)")
        }
    }

    /// Another program writes, such as a recorder that deletes old points or another import. The import retries until
    /// the other program is done. With an empty write-ahead log, even opening the history has to wait.
    @Test(arguments: ["CREATE TABLE filler (x); DROP TABLE filler; ", ""])
    func anImportWaitsForAnotherWriter(before: String) async throws {
        try await Self.withFolder { folder in
            let file = folder.appending(path: "history.sqlite").path()
            try await SQLiteHistoryStore(path: file).close()
            let points = folder.appending(path: "points.csv").path()
            try "time,lat,lon\n2026-05-04T09:00:00Z,52,-8\n".write(toFile: points, atomically: true, encoding: .utf8)
            let mark = folder.appending(path: "writes").path()
            let writer = try ChildProcess(
                "/usr/bin/env",
                [
                    "sqlite3", file, "\(before)BEGIN IMMEDIATE;",
                    ".shell touch \(mark) ; while [ -e \(mark) ] ; do sleep 0.1 ; done",
                ], output: "/dev/null")
            try await waitUntil { FileManager.default.fileExists(atPath: mark) }
            let program = try Programs.start(
                "godwit", ["import", points, "--trackable", "van", "--store", "sqlite:\(file)"])
            try await program.waitForLog("the history is busy or cannot be reached")
            try FileManager.default.removeItem(atPath: mark)
            try await writer.waitForEnd()
            let result = try await program.result(within: .seconds(60))
            #expect(result.code == 0 && result.output == "1 point stored\n", "\(result.errors)")
        }
    }

    /// The import waits before anything is erased: a second attempt by the user would not help.
    @Test func anErasureWaitsForAnotherWriter() async throws {
        let broker = try await MosquittoProcess.start()
        try await Self.withFolder { folder in
            let file = folder.appending(path: "history.sqlite").path()
            let points = folder.appending(path: "points.csv").path()
            try "time,lat,lon\n2026-05-04T09:00:00Z,52,-8\n".write(toFile: points, atomically: true, encoding: .utf8)
            let store = ["--store", "sqlite:\(file)"]
            #expect(try await Programs.run("godwit", ["import", points, "--trackable", "van"] + store).code == 0)
            let mark = folder.appending(path: "writes").path()
            let writer = try ChildProcess(
                "/usr/bin/env",
                [
                    "sqlite3", file, "CREATE TABLE filler (x); DROP TABLE filler; BEGIN IMMEDIATE;",
                    ".shell touch \(mark) ; while [ -e \(mark) ] ; do sleep 0.1 ; done",
                ], output: "/dev/null")
            try await waitUntil { FileManager.default.fileExists(atPath: mark) }
            let program = try Programs.start("godwit", ["erase", "van", "--yes", "--broker", broker.url] + store)
            try await program.waitForLog("the history is busy or cannot be reached")
            try FileManager.default.removeItem(atPath: mark)
            try await writer.waitForEnd()
            let result = try await program.result(within: .seconds(60))
            #expect(result.code == 0 && result.output.hasPrefix("erased: 1 point"), "\(result.output) \(result.errors)")
        }
    }

    /// Waiting cannot change a missing permission.
    @Test func aMissingWritePermissionIsReportedAtOnce() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let reader = "reader_\(UUID().uuidString.prefix(8).lowercased())"
        try await Self.withFolder { folder in
            let points = folder.appending(path: "points.csv").path()
            try "time,lat,lon\n2026-05-04T09:00:00Z,52,-8\n".write(toFile: points, atomically: true, encoding: .utf8)
            let file = ["import", points, "--trackable", "van", "--store"]
            #expect(try await Programs.run("godwit", file + [address]).code == 0)
            try await server.execute(
                """
                CREATE ROLE \(reader) LOGIN; GRANT USAGE ON SCHEMA godwit TO \(reader);
                GRANT SELECT ON ALL TABLES IN SCHEMA godwit TO \(reader)
                """, in: address)
            let theirs = address.replacing("//godwit@", with: "//\(reader)@")
            // A point that is stored already needs no permission.
            let later = folder.appending(path: "later.csv").path()
            try "time,lat,lon\n2026-05-04T09:00:01Z,52,-8\n".write(toFile: later, atomically: true, encoding: .utf8)
            let refused = try await Programs.run("godwit", ["import", later, "--trackable", "van", "--store", theirs])
            #expect(refused.code == 66 && refused.errors.contains("permission denied"), "\(refused.errors)")
            #expect(!refused.errors.contains("trying again"), "\(refused.errors)")
            let read = try await Programs.run("godwit", ["history", "van", "--store", theirs])
            #expect(read.code == 0 && read.lines.count == 2, "\(read.errors)")
        }
    }

    /// The export is ended by Ctrl-C, a closed terminal or `kill`.
    @Test func anExportThatIsEndedLeavesNothing() async throws {
        // A separate server: the lock on the table would block other tests.
        let server = try await PostgresServer.start()
        let address = try await server.makeDatabase()
        try await Self.withFolder { folder in
            let points = folder.appending(path: "points.csv").path()
            try "time,lat,lon\n2026-05-04T09:00:00Z,52,-8\n".write(toFile: points, atomically: true, encoding: .utf8)
            let store = ["--store", address]
            #expect(try await Programs.run("godwit", ["import", points, "--trackable", "van"] + store).code == 0)
            let holder = try RunningProgram(
                "/usr/bin/psql", [address, "-c", "BEGIN; LOCK TABLE godwit.point; SELECT pg_sleep(600)"])
            try await waitUntil {
                try await server.value(
                    "SELECT count(*) FROM pg_locks WHERE relation = 'godwit.point'::regclass AND granted", in: address)
                    == "1"
            }
            let output = folder.appending(path: "van.gpx").path()
            for signal in [SIGINT, SIGHUP, SIGTERM] {
                let program = try Programs.start(
                    "godwit", ["history", "van", "--format", "gpx", "--output", output] + store)
                try await waitUntil { FileManager.default.fileExists(atPath: "\(output).\(program.id).new") }
                let ended = try await program.end(signal)
                #expect(ended.code == 128 + signal, "\(ended.errors)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path()) == ["points.csv"])
            }
            holder.signal(SIGKILL)
        }
    }

    @Test func aBackupThatIsEndedLeavesNothing() async throws {
        try await Self.withFolder { folder in
            let file = folder.appending(path: "history.sqlite").path()
            try await SQLiteHistoryStore(path: file).close()
            // Copying about 30 MB takes a while.
            let filled = try await HistoryCommandTests.run(
                "sqlite3",
                [
                    file,
                    """
                    INSERT INTO quarantine SELECT value, 0, 'x', NULL, NULL, NULL, 'x', randomblob(16000) \
                    FROM generate_series(1, 2000)
                    """,
                ])
            #expect(filled.code == 0, "\(filled.errors)")
            let copies = folder.appending(path: "copies")
            let deadline = ContinuousClock.now + .seconds(60)
            var code: Int32 = 0
            while code == 0 {
                try #require(ContinuousClock.now < deadline, "it was always over before it could be ended")
                try? FileManager.default.removeItem(at: copies)
                try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: false)
                let program = try Programs.start(
                    "godwit", ["backup", copies.appending(path: "copy").path(), "--store", "sqlite:\(file)"])
                try await waitUntil {
                    try !FileManager.default.contentsOfDirectory(atPath: copies.path()).isEmpty
                }
                code = try await program.end(SIGINT).code
            }
            #expect(code == 128 + SIGINT)
            #expect(try FileManager.default.contentsOfDirectory(atPath: copies.path()) == [])
        }
    }

    /// SQLite would interpret such names as URIs and open another file, possibly with other permissions.
    @Test func aPathThatResemblesAnAddressIsAPath() async throws {
        try await Self.withFolder { folder in
            let points = "points.csv"
            try "time,lat,lon\n2026-05-04T09:00:00Z,52,-8\n"
                .write(to: folder.appending(path: points), atomically: true, encoding: .utf8)
            func run(_ arguments: [String]) async throws -> Programs.Result {
                let program = Programs.root.appending(path: ".build/debug/godwit").path()
                return try await HistoryCommandTests.run("env", ["-C", folder.path(), program] + arguments)
            }
            for name in ["file:van.sqlite", ":memory:", "van?mode=ro#1.sqlite"] {
                let made = try await run(["import", points, "--trackable", "van", "--store", "sqlite:\(name)"])
                #expect(made.code == 0, "\(made.errors)")
                let copied = try await run(["backup", "\(name).copy", "--store", "sqlite:\(name)"])
                #expect(copied.code == 0, "\(copied.errors)")
                let read = try await run(["history", "van", "--store", "sqlite:\(name).copy"])
                #expect(read.code == 0 && read.lines.count == 2, "\(read.errors)")
                let path = folder.appending(path: "\(name).copy").path(percentEncoded: false)
                #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
            }
        }
    }

    private static func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-hardship-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }
}
