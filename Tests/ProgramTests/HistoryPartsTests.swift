import ArgumentParser
import Foundation
import GodwitOptions
import TestSupport
import Testing
import TrackingCore
import TrackingHistory
import TrackingMQTT
import TrackingStore

@testable import godwit

/// The deciders behind the commands on the history.
@Suite struct HistoryPartsTests {
    private func point(_ seq: UInt64?, of stream: String = "one", at time: Double = 100) throws -> Location {
        var point = Location(
            coordinate: try #require(Coordinate(latitude: 52, longitude: -8)), time: UnixTime(time))
        (point.stream, point.seq) = (seq == nil ? nil : StreamID(stream), seq)
        return point
    }

    // MARK: - How long is kept

    @Test func aRuleIsOfEverythingOrOfOneTrackable() throws {
        let all = try #require(KeepRule(argument: "90d"))
        #expect(all.trackable == nil && all.time == .seconds(90 * 86_400))
        let one = try #require(KeepRule(argument: "van=7=12h"))
        #expect(one.trackable == (try TrackableID("van=7")) && one.time == .seconds(12 * 3600))
        for wrong in ["", "d", "0d", "-1h", "7", "van-7=", "=30d", "van-7=ninety", "1e300d"] {
            #expect(KeepRule(argument: wrong) == nil, "\(wrong)")
        }
    }

    // MARK: - Where points are missing

    private func interruptions(_ seqs: [UInt64?], _ stored: [ClosedRange<UInt64>]) throws -> [Int] {
        let one = try #require(StreamID("one"))
        var continuity = TrackContinuity([one: StreamCoverage(stored.map { .init(.stored, $0) })])
        return try seqs.indices.filter { continuity.step(to: try self.point(seqs[$0])) == .missing }
    }

    @Test func aTrackIsInterruptedWhereNumbersAreNotStored() throws {
        #expect(try self.interruptions([1, 2, 5, 6, 9], [1...6, 9...9]) == [4], "3 and 4 are events, say")
        #expect(try self.interruptions([nil, nil], [1...6]) == [])
        #expect(try self.interruptions([1, 8], [1...3, 5...8]) == [1])
    }

    /// Nothing is known of what lies between two streams: nothing is measured across, and no point of theirs is said to
    /// be near.
    @Test func aTrackIsInterruptedWhereAnotherStreamBegins() throws {
        var continuity = TrackContinuity([:])
        #expect(continuity.step(to: try self.point(7, of: "one")) == .next)
        #expect(continuity.step(to: try self.point(1, of: "two")) == .missing)
        #expect(continuity.step(to: try self.point(2, of: "two")) == .next)
        #expect(continuity.step(to: try self.point(8, of: "one")) == .missing)
    }

    /// Each step costs a search: with a copy of the ranges it would take hours.
    @Test(.timeLimit(.minutes(5))) func aStreamOfManyGapsIsReadInOneGo() throws {
        let ranges = (0..<UInt64(20_000)).map { ($0 * 4 + 1)...($0 * 4 + 3) }
        // The middle one of each three is an event.
        let seqs = ranges.flatMap { [$0.lowerBound, $0.upperBound] }
        #expect(try self.interruptions(seqs, ranges).count == 19_999)
    }

    /// Numbers 3, 10 and 12 are events, 5 to 7 are elsewhere, 13 and 14 never came.
    @Test func aTrackIsInterruptedWherePointsWereLeftOut() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-parts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLiteHistoryStore(path: folder.appending(path: "history.sqlite").path())
        let van = try TrackableID("van")
        var recording = Recording(of: van, at: UnixTime(1000))
        recording.points = try [1, 2, 4, 5, 6, 7, 8, 9, 11, 15, 16].map { (seq: UInt64) in
            var point = try self.point(seq, at: Double(100 + seq))
            point.coordinate = try #require(Coordinate(latitude: (5...7).contains(seq) ? 60 : 52, longitude: -8))
            point.tripID = "t"
            return point
        }
        recording.events = try [3, 10, 12].map { (seq: UInt64) in
            let event = TrackingEvent(
                id: "e\(seq)", stream: try #require(StreamID("one")), seq: seq, time: UnixTime(Double(100 + seq)),
                kind: .lowBattery, detail: [:])
            return RecordedDocument(event, json: MessageCodec.encode(event))
        }
        var batch = RecordingBatch()
        batch.recordings = [recording]
        _ = try await store.store(batch)
        let box = try #require(GeoBox(south: 51, west: -9, north: 53, east: -7))
        for (query, segments) in [
            (PointQuery(van), 2), (PointQuery(van, tripID: "t"), 2), (PointQuery(van, in: box), 3),
            (PointQuery(van, in: box, tripID: "t"), 3),
        ] {
            let path = folder.appending(path: "track.gpx").path()
            let file = try OutputFile(path)
            var progress = ErrorProgress(isWanted: false)
            _ = try await HistoryExport(query: query, format: .gpx, maximumPoints: nil).run(store, to: file, &progress)
            try file.finish()
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.components(separatedBy: "<trkseg>").count - 1 == segments, "\(text)")
        }
        try await store.close()
    }

    /// Points without numbers, of which some are elsewhere: nothing but the store tells that they were left out.
    @Test(arguments: [nil, 100]) func aTrackWithoutNumbersIsInterruptedAsWell(maximumPoints: Int?) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-parts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLiteHistoryStore(path: folder.appending(path: "history.sqlite").path())
        let van = try TrackableID("van")
        var recording = Recording(of: van, at: UnixTime(1000))
        recording.points = try (1...30).map { second in
            var point = try self.point(nil, at: Double(100 + second))
            point.coordinate = try #require(Coordinate(latitude: (11...20).contains(second) ? 60 : 52, longitude: -8))
            return point
        }
        var batch = RecordingBatch()
        batch.recordings = [recording]
        _ = try await store.store(batch)
        let box = try #require(GeoBox(south: 51, west: -9, north: 53, east: -7))
        for (query, segments) in [(PointQuery(van), 1), (PointQuery(van, in: box), 2)] {
            let path = folder.appending(path: "track.gpx").path()
            let file = try OutputFile(path)
            var progress = ErrorProgress(isWanted: false)
            _ = try await HistoryExport(query: query, format: .gpx, maximumPoints: maximumPoints).run(
                store, to: file, &progress)
            try file.finish()
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.components(separatedBy: "<trkseg>").count - 1 == segments, "\(text)")
        }
        try await store.close()
    }

    // MARK: - What the broker keeps

    @Test func ofWhatIsKeptOnlyWhatIsOlderGoes() throws {
        let van = try TrackableID("van")
        let part = KeptMessages(of: van, before: UnixTime(1000), root: .standard)
        func location(_ time: Double, skipped: [Double] = []) throws -> ArraySlice<UInt8> {
            let points = try skipped.enumerated().map { try self.point(UInt64($0 + 1), at: $1) }
            return try LocationCodec.encode(
                LocationUpdate(location: try self.point(9, at: time), skipped: points))[...]
        }
        #expect(try part.isErased("tracking/van", location(999)))
        #expect(try !part.isErased("tracking/van", location(1000)))
        #expect(try part.isErased("tracking/van", location(1001, skipped: [998])), "a point that it carries is older")
        #expect(try part.isErased("tracking/van/enhanced", location(999)))
        #expect(try !part.isErased("tracking/van/enhanced", location(1000)))
        #expect(part.isErased("tracking/van", [0x7B]), "what cannot be read may be anything")
        var trip = Trip(id: "t", mode: "car", start: UnixTime(999), stream: try #require(StreamID("one")), seq: 1)
        #expect(part.isErased("tracking/van/trip", MessageCodec.encode(trip)[...]))
        trip.start = UnixTime(1000)
        #expect(!part.isErased("tracking/van/trip", MessageCodec.encode(trip)[...]))
        #expect(!part.isErased("tracking/van/resolution", [0x7B]))
        let all = KeptMessages(of: van, before: nil, root: .standard)
        #expect(all.isErased("tracking/van/resolution", [0x7B]))
    }

    @Test func topicsNotProvenToBeClearedAreReported() {
        var proof = ClearingProof(of: ["refused", "back", "kept", "silent", "unread"])
        proof.wasRefused("refused", "not authorised")
        proof.wasReadBack("back")
        proof.wasReadBack("kept")
        proof.isRetained("kept")
        proof.isUnreadable("unread")
        #expect(!proof.isComplete)
        #expect(proof.remains(reportsRefusals: true).map(\.topic) == ["refused", "kept", "unread"])
        #expect(proof.remains(reportsRefusals: false).map(\.topic) == ["refused", "kept", "silent", "unread"])
        #expect(proof.remains(reportsRefusals: true).first?.reason == "not authorised")
        proof.wasReadBack("silent")
        proof.wasReadBack("unread")
        #expect(proof.isComplete)
    }

    /// A broker of MQTT 3.1.1 says of a refused publish that all is well: what came back proves it, or nothing does.
    @Test(
        .timeLimit(.minutes(2)), arguments: [("", 9), ("topic write tracking/#", 0), ("topic readwrite tracking/#", 9)])
    func onMQTT311WhatComesBackIsTheProof(rights: String, cleared: Int) async throws {
        let broker = try await MosquittoProcess.start { port, folder in
            let access = folder.appending(path: "acl")
            try "\(rights)\nuser device\ntopic readwrite tracking/#\n"
                .write(to: access, atomically: true, encoding: .utf8)
            return "listener \(port) 127.0.0.1\nallow_anonymous true"
                + (rights.isEmpty ? "" : "\nacl_file \(access.path())")
        }
        for version in [ConnectionStateMachine.Version.v311, .v5] {
            var configuration = MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: try ClientID("wipe"))
            configuration.version = version
            let client = try MQTTClient(configuration: configuration)
            let outcome = try await KeptMessages(of: try TrackableID("van"), before: nil, root: .standard)
                .clear(with: client)
            let expected = version == .v5 ? 9 : cleared
            #expect(outcome.cleared == expected && outcome.remains.count == 9 - expected, "\(outcome)")
        }
    }

    // MARK: - Arguments

    @Test func nothingIsErasedThatIsToCome() throws {
        for before in ["now", "90d", "2020-01-01T00:00:00Z"] { _ = try Erase.parse(["van", "--before", before]) }
        let error = #expect(throws: (any Error).self) { try Erase.parse(["van", "--before", "2999-01-01T00:00:00Z"]) }
        #expect(error.map { Erase.exitCode(for: $0).rawValue } == 64)
        #expect(error.map { Erase.message(for: $0).contains("in the future") } == true)
    }

    @Test func aPlaceOfAHistory() {
        #expect(StoreLocation(argument: "sqlite:/a b/c:d.sqlite") == .sqlite(path: "/a b/c:d.sqlite"))
        #expect(StoreLocation(argument: "postgres://me@host/db") == .postgres(address: "postgres://me@host/db"))
        #expect(StoreLocation(argument: "postgresql://host") == .postgres(address: "postgresql://host"))
        for wrong in ["sqlite:", "history.sqlite", "mysql://host", ""] {
            #expect(StoreLocation(argument: wrong) == nil)
        }
    }

    @Test func aSpanOfTime() throws {
        let now = UnixTime(1_790_000_000)
        func times(_ arguments: [String]) throws -> TimeSpan { try SpanOptions.parse(arguments).times(now: now) }
        #expect(try times([]) == .all)
        #expect(try times(["--last", "2h"]) == TimeSpan(from: UnixTime(1_789_992_800)))
        #expect(
            try times(["--from", "1h", "--to", "now"]) == TimeSpan(from: UnixTime(1_789_996_400), to: now))
        for wrong in [["--last", "now"], ["--from", "1h", "--to", "2h"], ["--from", "1h", "--last", "1h"]] {
            #expect(throws: (any Error).self) { try times(wrong) }
        }
    }
}
