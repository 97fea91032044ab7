import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingStore

/// The commands for the history, as a user runs them.
@Suite(.timeLimit(.minutes(10))) struct HistoryCommandTests {
    // MARK: - Taking in and giving back

    @Test func aFileTwiceIsThePointsOnceAndComesBackAsItWas() async throws {
        let shelf = try Shelf()
        let file = shelf.path("track.gpx")
        try Self.gpx(Self.drive(300)).write(toFile: file, atomically: true, encoding: .utf8)
        let first = try await shelf.run(["import", file, "--trackable", "van"])
        #expect(first.code == 0 && first.output == "300 points stored\n", "\(first.errors)")
        let second = try await shelf.run(["import", file, "--trackable", "van"])
        #expect(second.code == 0 && second.output == "0 points stored, 300 were already stored\n")
        let text = try await shelf.run(["history", "van"])
        #expect(text.code == 0 && text.lines.count == 301 && text.lines[0].hasPrefix("time  "))
        #expect(text.lines[1].hasPrefix("2026-05-04 09:00:00 +00:00  52.00000,-8.66000  "), "\(text.lines[1])")
        // Import of a lossless export gives the same points.
        for format in ["json", "geojson", "csv"] {
            let copy = shelf.path("copy.\(format)")
            let export = try await shelf.run(["history", "van", "--format", format, "--output", copy])
            #expect(export.code == 0 && export.output.isEmpty, "\(export.errors)")
            _ = try await shelf.run(["import", copy, "--trackable", format])
            #expect(try await shelf.run(["history", format]).output == text.output)
        }
        let part = try await shelf.run([
            "history", "van", "--from", "2026-05-04T09:01:00Z", "--to", "2026-05-04T09:02:00Z",
        ])
        #expect(part.lines.count == 61 && part.lines[1].hasPrefix("2026-05-04 09:01:00 +00:00"))
        let box = try await shelf.run(["history", "van", "--bbox", "-9,52.0005,-8,52.00105"])
        #expect(box.lines.count == 7)
        let none = try await shelf.run(["history", "van", "--last", "1s"])
        #expect(none.code == 0 && none.output.isEmpty)
    }

    /// The points of a recorder have streams and numbers, and an export loses them.
    @Test func anExportThatIsImportedAgainAddsNothing() async throws {
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...100))
        for format in ["gpx", "geojson", "json", "csv"] {
            let file = shelf.path("export.\(format)")
            #expect(try await shelf.run(["history", "van", "--format", format, "--output", file]).code == 0)
            let again = try await shelf.run(["import", file, "--trackable", "van"])
            #expect(again.code == 0, "\(again.errors)")
            #expect(again.output == "0 points stored, 100 were already stored\n", "\(format)")
        }
        #expect(try await shelf.run(["history", "van"]).lines.count == 101)
        // Of a file with new points, only these are stored.
        let file = shelf.path("longer.csv")
        let rows = try Self.points(1...103).map {
            "\($0.time.seconds),\($0.coordinate.latitude),\($0.coordinate.longitude)"
        }
        try ("time,latitude,longitude\n" + rows.joined(separator: "\n") + "\n")
            .write(toFile: file, atomically: true, encoding: .utf8)
        let longer = try await shelf.run(["import", file, "--trackable", "van"])
        #expect(longer.output == "3 points stored, 100 were already stored\n", "\(longer.errors)")
    }

    @Test func theExportsOpenInOtherPrograms() async throws {
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...50) + Self.points(61...300))
        for (format, program, arguments, sign) in [
            ("gpx", "gpsbabel", ["-t", "-i", "gpx", "-f", "FILE", "-o", "unicsv", "-F", "-"], "52.00010"),
            ("geojson", "ogrinfo", ["-ro", "-al", "-so", "FILE"], "Feature Count: 290"),
            ("kml", "ogrinfo", ["-ro", "-al", "FILE"], "Feature Count: 2"),
            (
                "csv", "sqlite3",
                [":memory:", "-cmd", ".import --csv FILE h", "select count(*), min(time), min(seq) from h"],
                "290|2026-09-21T14:13:21Z|1"
            ),
        ] {
            let file = shelf.path("history.\(format)")
            let export = try await shelf.run(["history", "van", "--format", format, "--output", file])
            #expect(export.code == 0, "\(export.errors)")
            let opened = try await Self.run(program, arguments.map { $0.replacing("FILE", with: file) })
            #expect(
                opened.code == 0 && opened.output.contains(sign),
                "\(format): \(opened.output.prefix(800)) \(opened.errors)")
        }
        // A track is interrupted where points are missing.
        let gpx = try await shelf.run(["history", "van", "--format", "gpx"])
        #expect(gpx.output.components(separatedBy: "<trkseg>").count == 3)
        for (format, piece) in [("gpx", "<trkseg>"), ("kml", "<Placemark>"), ("mfjson", "MovingPoint")] {
            for most in ["20", "100000"] {
                let thinned = try await shelf.run(["history", "van", "--format", format, "--max-points", most])
                #expect(thinned.output.components(separatedBy: piece).count == 3, "\(format) \(most)")
            }
        }
    }

    @Test func locationDataOfNextBillionIsWrittenAndRead() async throws {
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...50))
        let file = shelf.path("history.nb")
        let export = try await shelf.run(["history", "van", "--format", "nextbillion", "--output", file])
        #expect(export.code == 0, "\(export.errors)")
        let list = try JSONValue(json: Array(try Data(contentsOf: URL(filePath: file)))).list
        #expect(list?.count == 50 && list?.first?["location"]?["lat"] != nil && list?.first?["timeStamp"] != nil)
        let unknown = try await shelf.run(["import", file, "--trackable", "bus"])
        #expect(unknown.code == 64 && unknown.errors.contains("nextbillion"), "\(unknown.errors)")
        let read = try await shelf.run(["import", file, "--trackable", "bus", "--format", "nextbillion"])
        #expect(read.output == "50 points stored\n", "\(read.errors)")
    }

    @Test func aHistoryFileOfAblyIsWrittenAndRead() async throws {
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...50))
        let file = shelf.path("history.ably")
        let export = try await shelf.run(["history", "van", "--format", "ably", "--output", file])
        #expect(export.code == 0, "\(export.errors)")
        let read = try await shelf.run(["import", file, "--trackable", "bus", "--format", "ably"])
        #expect(read.output == "50 points stored\n", "\(read.errors)")
        try Data(#"{"version":"3.0.0","events":[]}"#.utf8).write(to: URL(filePath: file))
        let newer = try await shelf.run(["import", file, "--trackable", "bus", "--format", "ably"])
        #expect(newer.code != 0 && newer.errors.contains("its version is 3.0.0"), "\(newer.errors)")
    }

    @Test func aSimplifiedHistoryReportsTheDistanceOfTheOmittedPoints() async throws {
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...500))
        let result = try await shelf.run(["history", "van", "--max-points", "20"])
        #expect(result.code == 0 && result.lines.count == 21)
        #expect(
            result.errors
                == "20 of 500 points written. The others are at most 0.0 m from the line through the written points at their time\n"
        )
    }

    @Test func missingDataIsReported() async throws {
        let shelf = try Shelf()
        let missing = try await shelf.run(["last"])
        #expect(missing.code == 66 && missing.errors.contains("cannot find the history '\(shelf.file)'"))
        try await shelf.store(Self.points(1...5))
        for command in [["history", "nobody"], ["trips", "nobody"], ["verify", "nobody"]] {
            let result = try await shelf.run(command)
            #expect(result.code == 1 && result.output.isEmpty, "\(command)")
            #expect(
                result.errors
                    == "Error: the history has no record of nobody. List the stored trackables with godwit trackables\n"
            )
        }
        let last = try await shelf.run(["last", "van", "nobody"])
        #expect(last.code == 1 && last.lines.count == 2 && last.errors.contains("of nobody"))
        for wrong in [
            ["history", "van", "--from", "yesterday"], ["history", "van", "--bbox", "1,2,3"],
            ["history", "van", "--last", "2h", "--from", "3h"], ["last", "--near", "52,-8"],
            ["import", "points.xyz", "--trackable", "van"], ["history", "van", "--store", "mysql:x"], ["backup", "-"],
        ] {
            #expect(try await shelf.run(wrong).code == 64, "\(wrong)")
        }
    }

    @Test func ofABadFileTheGoodPointsAreTaken() async throws {
        let shelf = try Shelf()
        let file = shelf.path("points.csv")
        try "time,lat,lon\n2026-05-04T09:00:00Z,52,-8\n2026-05-04T09:00:01Z,91,-8\n2026-05-04T09:00:02Z,53,-8\n"
            .write(toFile: file, atomically: true, encoding: .utf8)
        let result = try await shelf.run(["import", file, "--trackable", "van"])
        #expect(result.code == 1 && result.output == "2 points stored, 1 could not be read\n")
        #expect(result.errors.contains("line 3") && !result.errors.contains("91"))
        let other = try await shelf.run(["import", "/dev/null", "--trackable", "van", "--format", "gpx"])
        #expect(other.code == 66, "\(other.output) \(other.errors)")
    }

    @Test func aBarShowsHowFarItIs() async throws {
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...5000))
        let terminal = try TestTerminal(columns: 60, rows: 5)
        let program = try RunningProgram(
            executable: Programs.root.appending(path: ".build/debug/godwit"),
            arguments: ["history", "van", "--output", shelf.path("van.txt")],
            environment: ["GODWIT_STORE": "sqlite:\(shelf.file)"], input: "/dev/null", errors: terminal.path)
        #expect(try await program.result(within: .seconds(60)).code == 0)
        #expect(terminal.raw.contains("39/100") && terminal.raw.contains("100/100"), "\(terminal.raw)")
        #expect(terminal.raw.hasSuffix("\r\u{1B}[K"), "it is taken away at the end")
    }

    @Test func theSameInPostgreSQL() async throws {
        // The output of `erase` depends on activity in other databases of the server, so that this test has its own
        // server.
        let server = try await PostgresServer.start()
        let environment = ["GODWIT_STORE": try await server.makeDatabase(), "TZ": "UTC"]
        func run(_ arguments: [String]) async throws -> Programs.Result {
            try await Programs.run("godwit", arguments, environment: environment)
        }
        let shelf = try Shelf()
        let file = shelf.path("track.gpx")
        try Self.gpx(Self.drive(300)).write(toFile: file, atomically: true, encoding: .utf8)
        #expect(try await run(["import", file, "--trackable", "van"]).output == "300 points stored\n")
        _ = try await shelf.run(["import", file, "--trackable", "van"])
        for command in [
            ["history", "van"], ["history", "van", "--format", "geojson", "--bbox", "-9,52.0005,-8,52.00105"], ["last"],
            ["trackables"], ["trips", "van"], ["verify", "van"],
        ] {
            let result = try await run(command)
            #expect(result.code == 0 && !result.output.isEmpty, "\(command): \(result.errors)")
            #expect(result.output == (try await shelf.run(command).output), "\(command)")
        }
        let newer = try await server.makeDatabase()
        try await server.execute(
            "CREATE SCHEMA godwit; CREATE TABLE godwit.schema_version AS SELECT 99::bigint AS version", in: newer)
        let refused = try await Programs.run("godwit", ["last"], environment: ["GODWIT_STORE": newer])
        #expect(refused.code == 66 && refused.errors.hasPrefix("Error: ") && refused.errors.contains("version 99"))
        #expect(refused.errors.split(separator: "\n").count == 1, "\(refused.errors)")
        let backup = try await run(["backup", shelf.path("copy")])
        #expect(backup.code == 64 && backup.errors.contains("pg_dump"))
        let broker = try await MosquittoProcess.start()
        let erased = try await run(["erase", "van", "--yes", "--broker", broker.url])
        #expect(erased.code == 0 && erased.lines[0].hasPrefix("erased: 300 points"), "\(erased.errors)")
        #expect(erased.lines.contains { $0.hasPrefix("elsewhere: ") } && !erased.output.contains("not erased"))
        #expect(try await run(["history", "van"]).output.isEmpty)
        withExtendedLifetime(server) {}
    }

    // MARK: - Beside a recorder

    @Test func allOfItBesideARecorder() async throws {
        let broker = try await MosquittoProcess.start()
        let shelf = try Shelf()
        let recorder = try Programs.start(
            "godwit", ["record", "--broker", broker.url, "--name", "keeper", "--store", "sqlite:\(shelf.file)"])
        let agent = try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van", "--broker", broker.url, "--source", "simulate:", "--speed", "10",
                "--battery", "none", "--default-resolution", "HIGH/100/0", "--batch-window", "0.2",
                "--acknowledge-by", "keeper",
            ])
        do {
            try await Self.wait { (try? await shelf.run(["history", "van"]).lines.count) ?? 0 >= 20 }
        } catch {
            Issue.record("recorder: \(recorder.errors) agent: \(agent.errors)")
            throw error
        }
        let copy = shelf.path("copy.sqlite")
        #expect(try await shelf.run(["backup", copy]).code == 0)
        let watch = try await Programs.start(
            "godwit",
            [
                "watch", "van", "--broker", broker.url, "--since", "1h", "--store", "sqlite:\(shelf.file)", "--format",
                "json", "--skipped", "--count", "60", "--timeout", "110",
            ]
        ).result(within: .seconds(120))
        #expect(watch.code == 0, "\(watch.errors)")
        let watched = watch.output.matches(of: #/"seq":(\d+)/#).compactMap { UInt64($0.1) }
        #expect(Set(watched).count == watched.count && watched.first == 1)
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        for file in [shelf.file, copy] {
            let opened = Shelf(opening: file, in: shelf)
            // The recorder may not have stored every record yet.
            try await Self.wait { (try? await opened.run(["verify", "van"]).code) == 0 }
            let verified = try await opened.run(["verify", "van"])
            #expect(verified.code == 0 && verified.lines.last == "complete", "\(verified.output) \(verified.errors)")
        }
        let erased = try await shelf.run(["erase", "van", "--yes", "--broker", broker.url])
        #expect(erased.code == 0 && !erased.output.contains("not erased"), "\(erased.output) \(erased.errors)")
        #expect(try await shelf.run(["history", "van"]).output.isEmpty)
        #expect(try await Self.kept(at: broker).filter { !$0.contains("/ack/") && !$0.contains("/subscriber/") } == [])
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(60)).code == 0)
    }

    /// Waits until a condition holds.
    private static func wait(until isSo: () async -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while await !isSo() {
            try #require(ContinuousClock.now < deadline)
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    // MARK: - Looking

    @Test func theLastPositionsAndTheTrackables() async throws {
        let shelf = try Shelf()
        for (id, count) in [("near", 5), ("far", 3000), ("nearest", 1)] {
            try await shelf.store(Self.points(1...UInt64(count)), of: id)
        }
        let all = try await shelf.run(["last"])
        #expect(all.lines.map { String($0.prefix { $0 != " " }) } == ["trackable", "far", "near", "nearest"])
        let near = try await shelf.run(["last", "--near", "52,-8.66", "--within", "1000"])
        #expect(near.lines.map { String($0.prefix { $0 != " " }) } == ["trackable", "nearest", "near"])
        #expect(near.lines[1].contains("  52.00010,-8.66000      11 m  "), "\(near.output)")
        let json = try await shelf.run(["last", "far", "--format", "json"])
        let feature = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
        #expect(feature?["id"] as? String == "far" && feature?["type"] as? String == "Feature")
        let list = try await shelf.run(["trackables", "--format", "json"])
        #expect(list.lines.first == #"{"first":1790000001,"last":1790003000,"streams":1,"trackable":"far"}"#)
        #expect(try await shelf.run(["trackables"]).lines.count == 4)
    }

    @Test func theTripsThatWereRecordedAndThoseThatAreFound() async throws {
        let shelf = try Shelf()
        // A recorded trip within a drive, after a stop of ten minutes.
        let start = 1_790_000_000.0
        var recording = Recording(of: try TrackableID("van"), at: UnixTime(start + 9000))
        recording.points = try (0..<3000).map { second in
            let moved = max(0, min(second, 600)) + max(0, second - 1200)
            var point = Location(
                coordinate: try #require(Coordinate(latitude: 52 + Double(moved) * 1e-4, longitude: -8.66)),
                time: UnixTime(start + Double(second)))
            point.stream = StreamID("one")
            point.seq = UInt64(second + 1)
            point.speed = second == 2500 ? 33 : 11
            return point
        }
        var trip = Trip(
            id: "t-1", mode: "car", start: UnixTime(start + 2000), stream: try #require(StreamID("one")), seq: 9000)
        trip.state = .ended
        trip.end = UnixTime(start + 2800)
        (trip.distance, trip.duration) = (8900, 800)
        recording.trips = [RecordedDocument(trip, json: MessageCodec.encode(trip))]
        try await shelf.store(recording)
        let result = try await shelf.run(["trips", "van"])
        #expect(result.code == 0)
        let rows = result.lines.dropFirst().map { $0.split(separator: " ").map(String.init) }
        #expect(rows.map { $0[6] } == ["trip", "stop", "trip", "recorded", "trip"], "\(result.output)")
        #expect(rows[3][7...12] == ["0:13:20", "8.9", "km", "40.1", "km/h", "118.8"], "\(result.output)")
        #expect(rows[3].suffix(2) == ["car", "t-1"])
        // The fastest point is at 2500. A trip is always returned as a whole, for any part of its time.
        for part in [["--from", "2026-09-21T14:55:10Z"], ["--to", "2026-09-21T14:53:20Z"]] {
            let cut = try await shelf.run(["trips", "van"] + part).lines.filter { $0.contains("recorded") }
            #expect(cut.map { $0.split(separator: " ").map(String.init) } == [rows[3]], "\(part) \(cut)")
        }
        let json = try await shelf.run(["trips", "van", "--format", "json", "--stop-time", "900"])
        let objects = try json.lines.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
        #expect(objects.map { $0?["kind"] as? String } == ["trip", "trip", "trip"], "no stop is that long")
        #expect(objects[1]?["tripId"] as? String == "t-1" && objects[1]?["recorded"] as? Bool == true)
    }

    @Test func missingPointsAreReportedUntilTheyArrive() async throws {
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...50) + Self.points(61...100) + Self.points(111...120)) {
            $0.declaration = StreamDeclaration(
                stream: try #require(StreamID("one")), gone: [51...60], end: 120)
        }
        let holed = try await shelf.run(["verify", "van"])
        #expect(holed.code == 1)
        #expect(
            holed.lines == [
                "van: 100 points", "stream one: ends with record 120", "  1–50  stored", "  51–60  gone",
                "  61–100  stored",
                "  101–110  missing", "  111–120  stored", "1 undeclared gap",
            ], "\(holed.output)")
        try await shelf.store(Self.points(101...110))
        let whole = try await shelf.run(["verify", "van", "--format", "json"])
        #expect(whole.code == 0 && whole.output.contains(#""complete":true"#), "\(whole.output)")
    }

    /// A device may choose any name for its stream.
    @Test func theNameOfAStreamForgesNoLine() async throws {
        let shelf = try Shelf()
        var point = try Self.points(1...1)[0]
        point.stream = StreamID("e\u{2028}stream forged: ok\u{2029}")
        try await shelf.store([point])
        let result = try await shelf.run(["verify", "van"])
        #expect(result.code == 0 && result.lines.count == 4, "\(result.output)")
        #expect(!result.output.contains { $0 == "\u{2028}" || $0 == "\u{2029}" })
    }

    // MARK: - Keeping and forgetting

    @Test func aBackupIsMadeWhileRecordingAndIsAHistory() async throws {
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...100))
        let copy = shelf.path("copy.sqlite")
        let recorder = try SQLiteHistoryStore(path: shelf.file)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var next: UInt64 = 101
                while !Task.isCancelled {
                    _ = try await recorder.store(Shelf.batch(Self.points(next...(next + 99))))
                    next += 100
                }
            }
            let backup = try await shelf.run(["backup", copy])
            #expect(backup.code == 0, "\(backup.errors)")
            group.cancelAll()
        }
        try await recorder.close()
        let now = try #require(try await shelf.run(["trackables"]).lines.last)
        #expect(try await shelf.run(["backup", copy]).code == 66, "a file that is there is not replaced")
        // The copy is the history of one moment, with complete commits and nothing missing. It accepts further records.
        let restored = Shelf(opening: copy, in: shelf)
        let verified = try await restored.run(["verify", "van"])
        #expect(verified.code == 0 && verified.lines.last == "complete", "\(verified.output)")
        let count = try await restored.run(["history", "van"]).lines.count - 1
        #expect(count >= 100 && count % 100 == 0)
        try await restored.store(Self.points(UInt64(count + 1)...UInt64(count + 10)))
        #expect(try await restored.run(["history", "van"]).lines.count == count + 11)
        #expect(!now.isEmpty)
        let rights = try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int
        #expect(rights == 0o600)
    }

    @Test func erasedDataIsInNoFileAndNotRetained() async throws {
        let broker = try await MosquittoProcess.start()
        let shelf = try Shelf()
        let secret = "nobody-is-to-know-this"
        let marked = try Self.points(1...2000).map { point in
            var point = point
            point.extra = Array(#"{"note":"\#(secret)"}"#.utf8)
            return point
        }
        try await shelf.store(marked)
        try await shelf.store(Self.points(1...10), of: "other")
        #expect(try shelf.filesHolding(secret).isEmpty == false)
        let last = try LocationCodec.encode(LocationUpdate(location: try #require(marked.last)))
        try await Self.keep(last, on: "tracking/van", at: broker)
        try await Self.keep(last, on: "tracking/other", at: broker)
        let unasked = try await shelf.run(["erase", "van", "--broker", broker.url])
        #expect(unasked.code == 64 && unasked.errors.contains("--yes"))
        let erased = try await shelf.run(["erase", "van", "--yes", "--broker", broker.url])
        #expect(erased.code == 0, "\(erased.errors)")
        #expect(erased.lines[0].hasPrefix("erased: 2000 points, 0 trips") && erased.lines.count == 2)
        #expect(erased.lines[1] == "broker: 9 topics cleared")
        #expect(try await shelf.run(["history", "van"]).code == 1)
        #expect(try shelf.filesHolding(secret).isEmpty)
        #expect(try await Self.kept(at: broker) == ["tracking/other"])
        // The whole log is sent again: no record is stored twice, and every record counts as handled.
        try await shelf.store(marked)
        let verified = try await shelf.run(["verify", "van"])
        #expect(verified.code == 0 && verified.lines[0] == "van: 0 points", "\(verified.output)")
        #expect(verified.output.contains("1–2000  erased"))
        #expect(try shelf.filesHolding(secret).isEmpty)
        #expect(try await shelf.run(["history", "other"]).lines.count == 11)
    }

    /// Data that an open reader still uses stays in the file, and the exit code reports it to scripts.
    @Test func theExitCodeReportsDataThatCouldNotBeErased() async throws {
        let broker = try await MosquittoProcess.start()
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...100))
        let mark = shelf.path("reads")
        let reader = try ChildProcess(
            "/usr/bin/env",
            [
                "sqlite3", shelf.file, "BEGIN; SELECT count(*) FROM point;",
                ".shell touch \(mark) ; while [ -e \(mark) ] ; do sleep 0.1 ; done",
            ], output: "/dev/null")
        try await Self.wait { FileManager.default.fileExists(atPath: mark) }
        let held = try await shelf.run(["erase", "van", "--yes", "--broker", broker.url])
        #expect(held.code == 1 && held.lines[0].hasPrefix("erased: 100 points"), "\(held.output) \(held.errors)")
        #expect(held.lines[1].hasPrefix("not erased: \(shelf.file)"), "\(held.output)")
        #expect(held.lines[1].hasSuffix("erase again when no program reads it"), "\(held.output)")
        #expect(held.lines[2] == "broker: 9 topics cleared")
        try FileManager.default.removeItem(atPath: mark)
        try await reader.waitForEnd()
        let again = try await shelf.run(["erase", "van", "--yes", "--broker", broker.url])
        #expect(again.code == 0 && !again.output.contains("not erased"), "\(again.output) \(again.errors)")
    }

    @Test func ofAPartOfTheTimeTheRestStays() async throws {
        let broker = try await MosquittoProcess.start()
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...100))
        let last = try #require(try Self.points(100...100).last)
        try await Self.keep(try LocationCodec.encode(LocationUpdate(location: last)), on: "tracking/van", at: broker)
        let early = try await shelf.run([
            "erase", "van", "--yes", "--broker", broker.url, "--before", "2026-09-21T14:14:00Z",
        ])
        #expect(early.code == 0 && early.lines[0].hasPrefix("erased: 39 points"), "\(early.output) \(early.errors)")
        #expect(early.lines[1] == "broker: 0 topics cleared")
        #expect(try await shelf.run(["history", "van"]).lines.count == 62)
        #expect(try await Self.kept(at: broker) == ["tracking/van"])
        let unreachable = try await shelf.run(["erase", "van", "--yes", "--broker", "mqtt://127.0.0.1:1"])
        #expect(unreachable.code == 69 && unreachable.errors.contains("Erase again"))
        #expect(unreachable.output.hasPrefix("erased: 61 points"))
    }

    @Test func aMissingRightToClearRetainedMessagesIsReported() async throws {
        let broker = try await MosquittoProcess.start { port, folder in
            let access = folder.appending(path: "acl")
            try "topic read tracking/#\nuser device\ntopic readwrite tracking/#\n"
                .write(to: access, atomically: true, encoding: .utf8)
            return "listener \(port) 127.0.0.1\nallow_anonymous true\nacl_file \(access.path())"
        }
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...10))
        let last = try #require(try Self.points(10...10).last)
        try await Self.keep(
            try LocationCodec.encode(LocationUpdate(location: last)), on: "tracking/van", at: broker, as: "device")
        let erased = try await shelf.run(["erase", "van", "--yes", "--broker", broker.url])
        #expect(erased.code == 1 && erased.output.hasPrefix("erased: 10 points"), "\(erased.output)")
        #expect(erased.output.contains("not erased: tracking/van at the broker: "), "\(erased.output)")
    }

    @Test func aHistoryOfAnotherVersionIsRefused() async throws {
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...3))
        _ = try await Self.run("sqlite3", [shelf.file, "PRAGMA user_version = 99"])
        for command in [["last"], ["history", "van"], ["backup", shelf.path("b.sqlite")]] {
            let result = try await shelf.run(command)
            #expect(result.code == 66 && result.errors.contains("has version 99"), "\(command): \(result.errors)")
        }
    }

    /// A backup on a file system of that kind, and a history of another user.
    @Test(.enabled(if: SmallDisk.isAllowed, "mounts a small file system: run it as root"))
    func aHistoryThatCannotBeWrittenIsRead() async throws {
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...10))
        try await SmallDisk.use(of: 16 << 20) { disk in
            let names = ["copy.sqlite", "a b%.sqlite", "empty.sqlite"].map {
                disk.appending(path: $0).path(percentEncoded: false)
            }
            #expect(try await shelf.run(["backup", names[0]]).code == 0)
            // A copy after recording, when the write-ahead log is idle.
            try FileManager.default.copyItem(atPath: shelf.file, toPath: names[1])
            try Data().write(to: URL(filePath: names[2]))
            try await ChildProcess.run("/bin/mount", ["-o", "remount,ro", disk.path()])
            for name in names[..<2] {
                let copy = Shelf(opening: name, in: shelf)
                for command in [["trackables"], ["last"], ["history", "van"], ["trips", "van"], ["verify", "van"]] {
                    let result = try await copy.run(command)
                    let same = try await shelf.run(command)
                    #expect(result.code == 0 && result.output == same.output, "\(name) \(command) \(result.errors)")
                }
                let written = try await copy.run(["import", "/dev/null", "--trackable", "van", "--format", "csv"])
                #expect(written.code == 66, "\(written.errors)")
            }
            let empty = try await Shelf(opening: names[2], in: shelf).run(["last"])
            #expect(empty.code == 66 && empty.errors.contains("the file is empty"), "\(empty.errors)")
        }
    }

    // MARK: - Again

    @Test func aReplayAtFullSpeedLeavesNothingOut() async throws {
        let broker = try await MosquittoProcess.start()
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...500))
        let watch = try Programs.start(
            "godwit", ["watch", "copy", "--broker", broker.url, "--format", "json", "--skipped", "--count", "500"])
        try await watch.wait { $0.contains("\"status\":\"ABSENT\"") }
        let replay = try await shelf.run(["replay", "van", "--as", "copy", "--speed", "max", "--broker", broker.url])
        #expect(replay.code == 0, "\(replay.errors)")
        let fixes = try Fix.watched(try await watch.result(within: .seconds(60)).output)
        #expect(fixes.map(\.time) == (1...500).map { (1_790_000_000 + $0) * 1000 })
    }

    @Test func aReplayIsPublishedAtItsPaceUnderAnotherName() async throws {
        let broker = try await MosquittoProcess.start()
        let shelf = try Shelf()
        try await shelf.store(Self.points(1...40))
        let watch = try Programs.start(
            "godwit", ["watch", "copy", "--broker", broker.url, "--format", "json", "--skipped"])
        try await watch.wait { $0.contains("\"status\":\"ABSENT\"") }
        #expect(try await shelf.run(["replay", "van", "--as", "van", "--broker", broker.url]).code == 64)
        let start = ContinuousClock.now
        let replay = try await shelf.run(
            ["replay", "van", "--as", "copy", "--speed", "20x", "--broker", broker.url])
        #expect(replay.code == 0, "\(replay.errors)")
        #expect(ContinuousClock.now - start >= .seconds(39.0 / 20))
        try await watch.wait { $0.components(separatedBy: "{\"event\":\"location\"").count - 1 >= 40 }
        watch.terminate()
        let fixes = try Fix.watched(try await watch.result(within: .seconds(60)).output)
        #expect(Set(fixes.map(\.time)) == Set((1...40).map { (1_790_000_000 + $0) * 1000 }))
    }

    @Test func tripsAndEventsAreReplayedWhenTheyAreDue() async throws {
        let broker = try await MosquittoProcess.start()
        let shelf = try Shelf()
        let one = try #require(StreamID("one"))
        func at(_ seconds: Double) -> UnixTime { UnixTime(1_790_000_000 + seconds) }
        var trip = Trip(id: "trip-1", mode: "car", start: at(5.5), stream: one, seq: 101)
        (trip.state, trip.end, trip.endedBy) = (.ended, at(15.5), .user)
        (trip.distance, trip.duration) = (120, 10)
        let event = TrackingEvent(
            id: "event-1", stream: one, seq: 102, time: at(10.5), kind: .lowBattery, detail: ["level": .number(0.1)])
        try await shelf.store(Self.points(1...20)) { recording in
            recording.trips = [RecordedDocument(trip, json: MessageCodec.encode(trip))]
            recording.events = [RecordedDocument(event, json: MessageCodec.encode(event))]
        }
        let watch = try Programs.start(
            "godwit", ["watch", "copy", "--broker", broker.url, "--format", "json", "--skipped"])
        try await watch.wait { $0.contains("\"status\":\"ABSENT\"") }
        let replay = try await shelf.run(["replay", "van", "--as", "copy", "--speed", "max", "--broker", broker.url])
        #expect(replay.code == 0, "\(replay.errors)")
        try await watch.wait {
            $0.contains("\"state\":\"ENDED\"") && $0.components(separatedBy: "{\"event\":\"location\"").count > 20
        }
        watch.terminate()
        let lines = try await watch.result(within: .seconds(60)).output.split(separator: "\n")
        let reported = lines.filter { $0.hasPrefix("{\"event\":\"trip\"") || $0.hasPrefix("{\"event\":\"event\"") }
        #expect(reported.count == 3, "\(reported)")
        #expect(reported.allSatisfy { $0.contains("\"trackable\":\"copy\"") })
        #expect(reported.map { $0.contains("LOW_BATTERY") } == [false, true, false])
        #expect(reported.first?.contains("\"state\":\"ACTIVE\"") == true && reported.first?.contains("120") == false)
        #expect(reported.last?.contains("\"endedBy\":\"user\"") == true)
        #expect(reported.allSatisfy { $0.contains("trip-1") || $0.contains("event-1") })
        // Each between the points that it was recorded between.
        let places = try lines.indices.filter { reported.contains(lines[$0]) }.map { index in
            try Fix.watched(lines[..<index].joined(separator: "\n")).count
        }
        #expect(places == [5, 10, 15])
    }

    /// Many events of the same time, and no point.
    @Test func eventsWithoutAPointAreReplayed() async throws {
        let broker = try await MosquittoProcess.start()
        let shelf = try Shelf()
        let one = try #require(StreamID("one"))
        try await shelf.store([]) { recording in
            recording.events = (1...20).map { (seq: UInt64) in
                let event = TrackingEvent(
                    id: "e", stream: one, seq: seq, time: UnixTime(1_790_000_000), kind: .lowBattery, detail: [:])
                return RecordedDocument(event, json: MessageCodec.encode(event))
            }
        }
        let watch = try Programs.start(
            "godwit", ["watch", "copy", "--broker", broker.url, "--format", "json", "--skipped"])
        try await watch.wait { $0.contains("\"status\":\"ABSENT\"") }
        let replay = try await shelf.run(["replay", "van", "--as", "copy", "--speed", "max", "--broker", broker.url])
        #expect(replay.code == 0, "\(replay.errors)")
        try await watch.wait { $0.components(separatedBy: "LOW_BATTERY").count > 20 }
        watch.terminate()
        _ = try await watch.result(within: .seconds(60))
        let history = try await shelf.run(["history", "van"])
        #expect(history.code == 0 && history.output.isEmpty)
    }
}

// MARK: - First what was recorded, then live

extension HistoryCommandTests {
    /// A recorder stores the records of an agent with a delay, and a watcher connects during the drive.
    @Test(arguments: [Duration.zero, .milliseconds(1500)])
    func betweenHistoryAndLiveNothingIsLeftOutNorTwice(lag: Duration) async throws {
        let broker = try await MosquittoProcess.start()
        let shelf = try Shelf()
        let store = try SQLiteHistoryStore(path: shelf.file)
        let client = try MQTTClient(
            configuration: MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: ClientID("lagging")))
        // The executor of the broker connection keeps the delay exact, even when the thread pool is busy.
        let output = try await withTaskExecutorPreference(MQTTEventLoop.shared.executor) {
            try await Self.watched(client, store, shelf, broker, lag)
        }
        let seqs = output.matches(of: #/"seq":(\d+)/#).compactMap { UInt64($0.1) }
        let sorted = seqs.sorted()
        #expect(sorted.count > 10 && Set(sorted).count == sorted.count, "no number appears twice: \(sorted)")
        // Events and trips use numbers of the same stream; the simulation publishes none here.
        let holes = zip(sorted, sorted.dropFirst()).filter { $1 != $0 + 1 }
        #expect(sorted.first == 1 && holes.isEmpty, "\(holes) in \(sorted)")
    }

    /// Returns a watcher's output for a drive that is recorded with this delay.
    private static func watched(
        _ client: MQTTClient, _ store: SQLiteHistoryStore, _ shelf: Shelf, _ broker: MosquittoProcess, _ lag: Duration
    ) async throws -> String {
        let root = TopicRoot.standard
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { await client.run() }
            let (subscriptions, subscribed) = AsyncStream.makeStream(of: Void.self)
            let (arrivals, arrived) = AsyncStream.makeStream(of: (IncomingMessage, ContinuousClock.Instant).self)
            group.addTask {
                try await client.withSubscription(to: ["tracking/van", "tracking/van/history"]) { messages in
                    subscribed.finish()
                    for try await message in messages { arrived.yield((message, .now + lag)) }
                }
            }
            group.addTask {
                for await (message, due) in arrivals {
                    try await Task.sleep(until: due)
                    var batch = RecordingBatch()
                    batch.received(message, root: root, at: UnixTime(Date.now.timeIntervalSince1970))
                    _ = try await store.store(batch)
                }
            }
            for await _ in subscriptions {}
            let agent = try Programs.start(
                "godwit-agent",
                [
                    "run", "--trackable", "van", "--broker", broker.url, "--source", "simulate:", "--speed", "10",
                    "--battery", "none", "--default-resolution", "HIGH/300/0", "--batch-window", "1",
                ])
            let van = try TrackableID("van")
            try await Self.wait { await ((try? store.verify(van))??.points ?? 0) >= 8 }
            let watch = try Programs.start(
                "godwit",
                [
                    "watch", "van", "--broker", broker.url, "--format", "json", "--skipped", "--since", "1h", "--store",
                    "sqlite:\(shelf.file)",
                ])
            try await watch.wait { $0.contains("\"event\":\"state\"") && $0.matches(of: #/"seq":/#).count > 20 }
            watch.terminate()
            let result = try await watch.result(within: .seconds(60))
            #expect(result.code == 0, "\(result.errors)")
            agent.terminate()
            _ = try await agent.result(within: .seconds(60))
            return result.output
        }
    }

    @Test func aWatcherReportsAMissingHistory() async throws {
        let watch = try await Programs.run(
            "godwit", ["watch", "van", "--since", "10m", "--store", "sqlite:/nowhere/history.sqlite"])
        #expect(watch.code == 66 && watch.errors.contains("cannot find the history '/nowhere/history.sqlite'"))
    }
}

// MARK: - What the tests need

extension HistoryCommandTests {
    /// Returns points of one stream, one a second, northward by about 11 m.
    static func points(_ seqs: ClosedRange<UInt64>) throws -> [Location] {
        try seqs.map { seq in
            let place = Coordinate(latitude: 52 + Double(seq) * 1e-4, longitude: -8.66)
            var point = Location(coordinate: try #require(place), time: UnixTime(1_790_000_000 + Double(seq)))
            point.stream = StreamID("one")
            point.seq = seq
            return point
        }
    }

    /// Returns places and times of a drive northward, a second apart.
    static func drive(_ count: Int) -> [(latitude: Double, time: String)] {
        (0..<count).map { second in
            let clock = [second / 60, second % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
            return (52 + (Double(second) * 1e4).rounded() / 1e8, "2026-05-04T09:\(clock)Z")
        }
    }

    static func gpx(_ drive: [(latitude: Double, time: String)]) -> String {
        let points = drive.map { "<trkpt lat=\"\($0.latitude)\" lon=\"-8.66\"><time>\($0.time)</time></trkpt>" }
        return "<gpx version=\"1.1\"><trk><trkseg>\(points.joined(separator: "\n"))</trkseg></trk></gpx>"
    }

    /// Runs a program of the system to its end.
    static func run(_ program: String, _ arguments: [String]) async throws -> Programs.Result {
        let path = "/usr/bin/\(program)"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw TestSupportError("\(program) is missing: apt-get install gpsbabel gdal-bin sqlite3")
        }
        return try await RunningProgram(
            executable: URL(filePath: path), arguments: arguments, environment: [:], input: "/dev/null"
        ).result(within: .seconds(60))
    }

    /// Publishes a retained message.
    static func keep(
        _ payload: [UInt8], on topic: String, at broker: MosquittoProcess, as user: String = "device"
    ) async throws {
        let sent = try await self.run(
            "mosquitto_pub",
            [
                "-p", "\(broker.port)", "-u", user, "-q", "1", "-r", "-t", topic, "-m",
                String(decoding: payload, as: UTF8.self),
            ])
        #expect(sent.code == 0, "\(sent.errors)")
    }

    /// Returns the trackable topics with a retained message.
    static func kept(at broker: MosquittoProcess) async throws -> [String] {
        // The retained message of the last filter arrives after all others.
        try await self.keep(Array("x".utf8), on: "mark", at: broker)
        let listener = try RunningProgram(
            "/usr/bin/mosquitto_sub", ["-p", "\(broker.port)", "-t", "tracking/#", "-t", "mark", "-F", "%t"])
        try await listener.wait(for: "mark\n")
        let received = try await listener.end()
        return received.lines.filter { $0 != "mark" && !$0.hasPrefix("tracking/_clients/") }.sorted()
    }
}

/// A history in its own folder, and the commands for it.
private final class Shelf: Sendable {
    /// The path of the history.
    let file: String
    private let folder: URL
    private let owner: Shelf?

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "godwit-shelf-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.file = self.folder.appending(path: "history.sqlite").path()
        self.owner = nil
    }

    /// Opens another history in the same folder.
    init(opening file: String, in owner: Shelf) {
        self.file = file
        self.folder = owner.folder
        self.owner = owner
    }

    deinit { if self.owner == nil { try? FileManager.default.removeItem(at: self.folder) } }

    /// A path in the folder.
    func path(_ name: String) -> String { self.folder.appending(path: name).path() }

    /// Runs `godwit` on the history.
    func run(_ arguments: [String]) async throws -> Programs.Result {
        try await Programs.run(
            "godwit", arguments, environment: ["GODWIT_STORE": "sqlite:\(self.file)", "TZ": "UTC"])
    }

    static func batch(_ points: [Location], of id: String = "van") throws -> RecordingBatch {
        var recording = Recording(of: try TrackableID(id), at: UnixTime(1_790_100_000))
        recording.points = points
        var batch = RecordingBatch()
        batch.recordings = [recording]
        return batch
    }

    /// Stores points as a recorder does.
    func store(
        _ points: [Location], of id: String = "van", _ change: (inout Recording) throws -> Void = { _ in }
    ) async throws {
        var batch = try Self.batch(points, of: id)
        try change(&batch.recordings[0])
        try await self.store(batch)
    }

    func store(_ recording: Recording) async throws {
        var batch = RecordingBatch()
        batch.recordings = [recording]
        try await self.store(batch)
    }

    private func store(_ batch: RecordingBatch) async throws {
        let store = try SQLiteHistoryStore(path: self.file)
        _ = try await store.store(batch)
        try await store.close()
    }

    /// The files of the folder that contain a text.
    func filesHolding(_ text: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self.folder.path()).filter { name in
            try Data(contentsOf: self.folder.appending(path: name)).range(of: Data(text.utf8)) != nil
        }
    }
}
