import Foundation
import Synchronization
import TestSupport
import Testing
import TrackingCore
import TrackingRuntime

@testable import TrackingPublisher

@Suite struct RecordingSourceTests {
    private static func gpx(_ count: Int, every seconds: Int = 1) -> String {
        let points = (0..<count).map { index in
            let time = UnixTime.at("2019-02-18T07:00:00Z").seconds + Double(index * seconds)
            let (hour, minute, second) = (Int(time) / 3600 % 24, Int(time) / 60 % 60, Int(time) % 60)
            let clock = [hour, minute, second].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
            return "<trkpt lat=\"52.\(100_000 + index)\" lon=\"-8.6\"><time>2019-02-18T\(clock)Z</time></trkpt>"
        }
        return "<gpx><trk><trkseg>\(points.joined(separator: "\n"))</trkseg></trk></gpx>"
    }

    @Test func aBulkReadDeliversEveryFixInOrderWhateverTheResolution() async throws {
        try await withFolder { folder in
            let source = RecordingSource(.gpx, file: try folder.file("track.gpx", Self.gpx(3000)), pace: .maximum)
            await source.use(.every(milliseconds: 30_000))
            let (log, error) = await runToEnd(source)
            #expect(error == nil && log.fixes.count == 3000 && log.all.count == 3000)
            #expect(log.fixes.map(\.time) == log.fixes.map(\.time).sorted())
            #expect(log.fixes.allSatisfy { $0.source == .replay })
        }
    }

    @Test func aSlowTakerHoldsTheReplayBack() async throws {
        try await withFolder { folder in
            let source = RecordingSource(.gpx, file: try folder.file("track.gpx", Self.gpx(200)), pace: .maximum)
            let inside = Mutex(0)
            let count = Mutex(0)
            try await source.run { _ in
                let others = inside.withLock { inside in
                    defer { inside += 1 }
                    return inside
                }
                #expect(others == 0)
                await Task.yield()
                inside.withLock { $0 -= 1 }
                count.withLock { $0 += 1 }
            }
            #expect(count.withLock { $0 } == 200)
        }
    }

    @Test func aPacedReplayKeepsTheTimesAndThinsItself() async throws {
        try await withFolder { folder in
            let path = try folder.file("track.gpx", Self.gpx(300))
            let source = RecordingSource(.gpx, file: path, pace: .times(1000))
            await source.use(.every(milliseconds: 10_000))
            let start = DeviceClock.now
            let (log, error) = await runToEnd(source)
            let took = start.duration(to: DeviceClock.now)
            #expect(error == nil && log.fixes.count == 30)
            #expect(took >= .milliseconds(298))
            let gaps = zip(log.fixes, log.fixes.dropFirst()).map { $1.time.since($0.time) }
            #expect(gaps.allSatisfy { $0 == .seconds(10) })
        }
    }

    @Test func aReplayIsEndedByCancellation() async throws {
        try await withFolder { folder in
            let source = RecordingSource(.gpx, file: try folder.file("track.gpx", Self.gpx(2, every: 3600)))
            let start = DeviceClock.now
            try await whileRunning(source) { try await $0.waitForFixes(1) }
            // The second fix is an hour away.
            #expect(start.duration(to: DeviceClock.now) < .seconds(1000))
        }
    }

    @Test func recordedNMEAAndJSONLinesAreReplayedToo() async throws {
        try await withFolder { folder in
            let sentences = Sentences.text((0..<60).flatMap { Sentences.epoch($0) } + ["$GPGGA,broken*00"])
            let nmea = RecordingSource(
                .nmea, file: try folder.file("a.nmea", "# a comment\n" + sentences), pace: .maximum)
            let (log, _) = await runToEnd(nmea)
            #expect(log.fixes.count == 60 && log.badInputs == ["line 362: the sentence GPGGA has a wrong checksum"])
            let lines = (0..<50).map { JSONLinesReaderTests.feature($0) }.joined(separator: "\n")
            let jsonl = RecordingSource(.jsonl, file: try folder.file("a.jsonl", lines), pace: .maximum)
            #expect(await runToEnd(jsonl).log.fixes.map(\.time.seconds) == (0..<50).map(Double.init))
        }
    }

    @Test func aRecordingWithoutADateIsDatedByItsFile() async throws {
        try await withFolder { folder in
            let gga = Sentences.make("GPGGA,120001,5239.1,N,00837.5,W,1,09,0.9,20.0,M,57.0,M,,")
            let path = try folder.file("a.nmea", gga + "\n")
            let date = Date(timeIntervalSince1970: UnixTime.at("2011-03-04T12:30:00Z").seconds)
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
            #expect(
                await runToEnd(RecordingSource(.nmea, file: path)).log.fixes.map(\.time) == [
                    .at("2011-03-04T12:00:01Z")
                ])
        }
    }

    @Test(arguments: [RecordingSource.Format.gpx, .jsonl, .nmea]) func aMissingFileIsAnError(
        format: RecordingSource.Format
    ) async {
        let (log, error) = await runToEnd(RecordingSource(format, file: "/nonexistent/a.b"))
        #expect(log.all.isEmpty)
        #expect(
            error
                == TrackingError(
                    .inputUnreadable, "cannot use \(format.rawValue):/nonexistent/a.b: No such file or directory"))
    }

    @Test func aFileOfAnotherFormatIsAnError() async throws {
        try await withFolder { folder in
            let path = try folder.file("a.gpx", "{}")
            let (_, error) = await runToEnd(RecordingSource(.gpx, file: path))
            #expect(error?.code == .inputUnreadable)
            #expect(
                error?.message
                    == "gpx:\(path): the input is not well-formed GPX: line 1: there is text outside of the root element"
            )
            let (_, folderError) = await runToEnd(RecordingSource(.nmea, file: folder.path))
            #expect(folderError?.code == .inputUnreadable)
        }
    }

    /// An input that is not in its format is an error, whether or not its lines are separable.
    @Test(arguments: [
        (RecordingSource.Format.jsonl, "{\"type\":\"FeatureCollection\",\n\"features\":[]}\n"),
        (.gpx, "<gpx><trk><trkseg><trkpt lat=\"1\" lon=\"2\"/></trkseg></trk></gpx>"),
        (.gpx, "<gpx><wpt lat=\"1\" lon=\"2\"/></gpx>"),
    ])
    func aFileWithoutOnePositionThatCanBeReadIsSaid(format: RecordingSource.Format, text: String) async throws {
        try await withFolder { folder in
            let (log, error) = await runToEnd(RecordingSource(format, file: try folder.file("recording", text)))
            #expect(error?.code == .inputUnreadable && !log.all.isEmpty && log.fixes.isEmpty)
            #expect(error?.message.contains("the input has no valid position") == true)
        }
    }

    @Test func aFileThatIsEmptyIsNoFault() async throws {
        try await withFolder { folder in
            for (format, text) in [(RecordingSource.Format.jsonl, "\n"), (.gpx, "<gpx/>")] {
                let (log, error) = await runToEnd(RecordingSource(format, file: try folder.file("recording", text)))
                #expect(error == nil && log.all.isEmpty)
            }
        }
    }

    @Test(arguments: ["", "no sentence\n\n# a comment\n$GPGGA,1*00\n"])
    func whatHasNoSentenceIsNoRecordingOfNMEA(text: String) async throws {
        try await withFolder { folder in
            let path = try folder.file("track.nmea", text)
            let (log, error) = await runToEnd(RecordingSource(.nmea, file: path, pace: .maximum))
            #expect(
                error?.code == .inputUnreadable && error?.message.contains(path) == true, "\(String(describing: error))"
            )
            #expect(log.badInputs.count == (text.isEmpty ? 0 : 2), "\(log.badInputs)")
        }
    }

    /// The recordings that are shared between projects; see `docs/reference/sources.md` for where they are looked for.
    @Test(.enabled(if: Tracks.folder != nil, "the shared recordings are not here (GODWIT_TRACKS)"))
    func theSharedTracksAreReadWhole() async throws {
        let expected = [
            "limerick_bus/304_to_UL_2019-02-18.gpx": (2144, 0), "gpxpy/Mojstrovka.gpx": (184, 0),
            "gpxpy/around-visnjan-with-car.gpx": (104, 0), "gpxpy/cerknicko-jezero.gpx": (296, 0),
            "gpxpy/korita-zbevnica.gpx": (513, 358), "gpxpy/track-with-extremes.gpx": (0, 25),
            "gpxpy/track_with_dilution_errors.gpx": (0, 1), "gpxpy/unicode_with_bom.gpx": (0, 1),
        ]
        for (name, count) in expected {
            let (log, error) = await runToEnd(RecordingSource(.gpx, file: try Tracks.path(name), pace: .maximum))
            // A file in which no point has a time is not a recording.
            #expect((error == nil) == (count.0 > 0), "\(name)")
            #expect(log.fixes.count == count.0 && log.badInputs.count == count.1, "\(name)")
        }
    }
}
