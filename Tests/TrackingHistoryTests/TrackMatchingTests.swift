import Testing
import TrackingCore
import TrackingHistory
import TrackingTesting

/// Recorded tracks through the generated town, matched run by run.
@Suite struct TrackMatchingTests {
    private let town = SyntheticRoads()

    private func place(east: Double, north: Double) -> Coordinate {
        SyntheticRoads.corner.destination(bearing: 0, distance: Meters(north))
            .destination(bearing: 90, distance: Meters(east))
    }

    /// Fixes every `step` metres along lines in the town, one a second, in turns up to 4 m beside the line.
    private func drive(_ corners: [(Double, Double)], step: Double = 10, noise: Double = 4) -> [Location] {
        let places = corners.map { self.place(east: $0.0, north: $0.1) }
        var fixes: [Location] = []
        for (start, end) in zip(places, places.dropFirst()) {
            let count = Int((start.distance(to: end).value / step).rounded())
            for index in 0..<count {
                let on = start.interpolated(to: end, fraction: Double(index) / Double(count))
                let offset = [0, noise, 0, -noise][fixes.count % 4]
                let beside = on.destination(bearing: start.bearing(to: end) + 90, distance: Meters(offset))
                var fix = Location(coordinate: beside, time: UnixTime(1000 + Double(fixes.count)))
                (fix.seq, fix.stream, fix.accuracyHorizontal) = (UInt64(fixes.count + 1), StreamID("one"), 5)
                fixes.append(fix)
            }
        }
        return fixes
    }

    /// Laps around a block: Street 1 to the east, Avenue 3 to the north, Street 2 to the west, Avenue 1 to the south.
    private func laps(_ count: Int) -> [Location] {
        let lap = [(0.0, 0.0), (400, 0), (400, 200), (0, 200)]
        return self.drive((0..<count).flatMap { _ in lap } + [(0, 0)])
    }

    /// Four fixes round the corner of Street 1 and Avenue 3, without a fix at the corner.
    private var turn: [Location] {
        var fixes = self.drive([(330, 0), (400, 0), (400, 150)], step: 45, noise: 0)
        fixes.remove(at: 2)
        return fixes
    }

    private func match(_ points: [Location]) async throws -> [MatchedPoint] {
        var matcher = TrackMatcher(self.town)
        var matched: [MatchedPoint] = []
        for point in points { matched += try await matcher.append(point) }
        return matched + (try await matcher.finish())
    }

    /// The runs of a track that no engine matches.
    private func runs(_ points: [Location], interruptions: Set<Int> = []) -> [TrackMatching.Run] {
        var matching = TrackMatching()
        var runs: [TrackMatching.Run] = []
        for (index, point) in points.enumerated() {
            guard let run = matching.append(point, isInterrupted: interruptions.contains(index)) else { continue }
            _ = matching.matched(run, nil)
            runs.append(run)
        }
        return runs + [matching.finish()].compactMap(\.self)
    }

    // MARK: - Runs

    @Test func aTrackWithoutPointsHasNoRun() {
        var matching = TrackMatching()
        let run = matching.finish()
        #expect(run == nil)
    }

    @Test func aFullRunIsContinuedWithItsLastPoints() throws {
        let points = (0..<5000).map { Points.at(Double($0), 0.5, 0.5) }
        let runs = self.runs(points)
        #expect(runs.map(\.points.count) == [2000, 2000, 1040])
        #expect(runs.map(\.repeated) == [0, 20, 20])
        #expect(runs.map(\.isContinued) == [true, true, false])
        for (run, next) in zip(runs, runs.dropFirst()) {
            #expect(run.points.suffix(20) == next.points.prefix(20))
        }
    }

    @Test func aTrackIsCutAtGapsJumpsAndMissingPoints() {
        var points = (0..<40).map { Points.at(Double($0) * 60, 0.5, 0.5) }
        #expect(self.runs(points).map(\.points.count) == [40], "60 s are no gap")
        points = points.enumerated().map { $0 < 10 ? $1 : Points.at($1.time.seconds + 1, 0.5, 0.5) }
        #expect(self.runs(points).map(\.points.count) == [10, 30], "61 s are a gap")
        points = points.enumerated().map { $0 < 20 ? $1 : Points.at($1.time.seconds, 0.5185, 0.5) }
        #expect(self.runs(points).map(\.points.count) == [10, 10, 20], "a jump of 2,057 m")
        #expect(self.runs(points, interruptions: [5, 30]).map(\.points.count) == [5, 5, 10, 10, 10])
        #expect(self.runs(points).allSatisfy { $0.repeated == 0 && !$0.isContinued })
    }

    /// Valhalla rejects a trace of more than 200 km, also of few points.
    @Test func aRunIsNotLongerThanItsLimit() {
        let points = (0..<400).map { Points.at(Double($0) * 30, 0.5, 0.5 + Double($0) * 0.01) }
        let runs = self.runs(points)
        #expect(runs.count == 4)
        #expect(runs.dropLast().allSatisfy { $0.isContinued })
        for run in runs {
            let length = zip(run.points, run.points.dropFirst()).reduce(0) {
                $0 + $1.0.coordinate.distance(to: $1.1.coordinate).value
            }
            #expect(length <= TrackMatching.maximumLength.value)
        }
    }

    @Test func theMeansOfTravelIsThatOfMostPoints() {
        var points = (0..<10).map { Points.at(Double($0), 0.5, 0.5) }
        #expect(self.runs(points).first?.request.profile == .auto)
        for index in 0..<4 { points[index].motion = [.cycling] }
        #expect(self.runs(points).first?.request.profile == .bicycle)
        points[9].motion = [.driving]
        #expect(self.runs(points).first?.request.profile == .auto, "a car in slow traffic")
        for index in 4..<10 { points[index].motion = [.driving] }
        #expect(self.runs(points).first?.request.profile == .auto)
    }

    // MARK: - Joined runs

    @Test func eachPointIsReturnedOnceAndOnTheRoad() async throws {
        let points = self.laps(18)
        try #require(points.count == 2160)
        let matched = try await self.match(points)
        #expect(matched.map(\.location.seq) == points.map(\.seq))
        #expect(matched.map(\.location.time) == points.map(\.time))
        #expect(matched.allSatisfy { $0.confidence == .matched && $0.road != nil })
        let names = Set(matched.compactMap(\.road))
        #expect(names == ["Street 1", "Avenue 3", "Street 2", "Avenue 1"])
        // The line has no jump at the seams.
        for (before, point) in zip(matched, matched.dropFirst()) {
            let line = [before.location.coordinate] + point.way + [point.location.coordinate]
            let length = zip(line, line.dropFirst()).reduce(0) { $0 + $1.0.distance(to: $1.1).value }
            #expect(length < 25, "\(point.location.seq ?? 0)")
            #expect(point.distance.value <= length + 0.01)
        }
        let distance = matched.reduce(0) { $0 + $1.distance.value }
        #expect(abs(distance - 18 * 1200) < 40, "\(distance)")
    }

    /// Two streets are possible before and after a full run. The joined runs take the one on which both agree.
    @Test func runsAreJoinedWhereTheyAgree() throws {
        var matching = TrackMatching()
        let points = (0..<2010).map { Points.at(Double($0), 0.5, 0.5) }
        var runs: [[MatchedPoint]] = []
        var returned: [TrackMatching.Run] = []
        func answer(_ run: TrackMatching.Run, edge: (Int) -> UInt64) -> RoadMatch {
            let edges = run.points.indices.map { RoadMatch.Edge(id: edge($0), road: "\(edge($0))") }
            return RoadMatch(
                points: run.points.indices.map {
                    RoadMatch.Point(coordinate: run.points[$0].coordinate, confidence: .matched, edge: $0, segment: 0)
                }, edges: edges, shape: [points[0].coordinate, points[0].coordinate])
        }
        for point in points {
            guard let run = matching.append(point) else { continue }
            returned.append(run)
            runs.append(matching.matched(run, answer(run) { $0 < 1996 ? 1 : 2 }))
        }
        let finished = matching.finish()
        let last = try #require(finished)
        returned.append(last)
        // The second run takes edge 3 for the points 1980 to 1992, 1 for 1993 and 1994, and then 4.
        runs.append(matching.matched(last, answer(last) { $0 < 13 ? 3 : $0 < 15 ? 1 : 4 }))
        #expect(returned.count == 2)
        #expect(runs.map(\.count) == [1980, 30])
        #expect(runs[0].allSatisfy { $0.road == "1" })
        #expect(runs[1].map(\.road) == [String?](repeating: "1", count: 15) + [String?](repeating: "4", count: 15))
    }

    @Test func pointsWithoutARoadRemainAsRecorded() async throws {
        var points = self.drive([(0, 0), (400, 0)])
        let recorded = points
        for index in 20..<30 {
            points[index].coordinate = points[index].coordinate.destination(bearing: 180, distance: 100)
        }
        let matched = try await self.match(points)
        for (index, point) in matched.enumerated() {
            #expect((point.confidence == .offRoad) == (20..<30).contains(index), "\(index)")
            if point.confidence == .offRoad { #expect(point.location == points[index] && point.road == nil) }
        }
        // A track far from all roads remains as it is.
        let far = recorded.map { point in
            var point = point
            point.coordinate = point.coordinate.destination(bearing: 180, distance: 20_000)
            return point
        }
        let unmatched = try await self.match(far)
        #expect(unmatched.map(\.location) == far)
        #expect(abs(unmatched.reduce(0) { $0 + $1.distance.value } - 450) < 80)
    }

    /// The way between two fixes turns at the crossing.
    @Test func theWayFollowsTheCorners() async throws {
        let matched = try await self.match(self.turn)
        let corner = self.place(east: 400, north: 0)
        let ways = matched.flatMap(\.way)
        #expect(ways.contains { $0.distance(to: corner).value < 1 })
        #expect(matched.first?.way.isEmpty == true)
        #expect(matched.first?.distance == 0)
    }

    /// A receiver's noise along the road is no distance.
    @Test func aStandingTrackableTravelsNothing() async throws {
        let points = (0..<200).map { index -> Location in
            let east = 100 + (index % 2 == 0 ? 0.0 : 8.0)
            var fix = Location(coordinate: self.place(east: east, north: 0), time: UnixTime(Double(index)))
            fix.accuracyHorizontal = 10
            return fix
        }
        let matched = try await self.match(points)
        #expect(matched.reduce(0) { $0 + $1.distance.value } < 10)
    }

    @Test func anEngineThatIsAwayIsAnError() async throws {
        struct Away: RoadEngine {
            func match(_ request: MatchRequest) async throws(TrackingError) -> RoadMatch {
                throw TrackingError(.engineUnavailable, "away")
            }
            func route(_ request: RouteRequest) async throws(TrackingError) -> Route {
                throw TrackingError(.engineUnavailable, "away")
            }
        }
        var matcher = TrackMatcher(Away())
        let none = try await matcher.append(Points.at(0, 0.5, 0.5))
        #expect(none.isEmpty)
        do throws(TrackingError) {
            _ = try await matcher.finish()
            Issue.record("the engine is away")
        } catch {
            #expect(error.code == .engineUnavailable)
        }
    }

    // MARK: - Formats

    private func written(_ points: [MatchedPoint], _ format: HistoryFormat) throws -> String {
        var writer = HistoryWriter(format, of: try TrackableID("van-7"), isMatched: true)
        var bytes = writer.begin()
        for point in points { bytes += writer.append(point) }
        return String(decoding: bytes + writer.finish(), as: UTF8.self)
    }

    private func features(_ points: [MatchedPoint]) throws -> [JSONValue] {
        let text = try self.written(points, .geojson)
        return try #require(try JSONValue(json: Array(text.utf8), maximumBytes: 10_000_000)["features"]?.list)
    }

    @Test func geojsonHasALineThatFollowsTheRoad() async throws {
        var matched = try await self.match(self.turn)
        matched[3].isInterrupted = true
        let features = try self.features(matched)
        let kinds = features.map { $0["geometry"]?["type"]?.text }
        #expect(kinds == ["Point", "Point", "Point", "LineString", "Point"])
        let places = try #require(features[3]["geometry"]?["coordinates"]?.list)
        #expect(places.count == 3 + matched[1].way.count + matched[2].way.count)
        #expect(features[0]["properties"]?["road"]?.text == "Street 1")
        #expect(features[0]["properties"]?["confidence"]?.text == "matched")
        #expect(features[4]["interrupted"] == .flag(true))
        let points = features.filter { $0["geometry"]?["type"]?.text == "Point" }
        let decoded = try points.map { try LocationCodec.decodeFeature($0.json) }
        #expect(decoded == matched.map(\.location))
    }

    @Test func aLongLineIsDividedWithoutAGap() throws {
        let points = (0..<4500).map { MatchedPoint(Points.at(Double($0), 0.5, 0.5 + Double($0) * 0.0001)) }
        let features = try self.features(points)
        let lines = features.compactMap { feature in
            feature["geometry"]?["type"]?.text == "LineString" ? feature["geometry"]?["coordinates"]?.list : nil
        }
        #expect(lines.map(\.count) == [2000, 2000, 502])
        #expect(lines[0].last == lines[1].first && lines[1].last == lines[2].first)
        #expect(features.count == 4503)
    }

    @Test func aLineEndsAtTheAntimeridian() throws {
        let points = [179.99, 179.999, -179.999, -179.99].enumerated().map {
            MatchedPoint(Points.at(Double($0), 0.5, $1))
        }
        let features = try self.features(points)
        #expect(features.count { $0["geometry"]?["type"]?.text == "LineString" } == 2)
    }

    @Test func otherFormatsHaveTheRoadOfAPoint() throws {
        var point = MatchedPoint(Points.at(0, 1, -2))
        let csv = try self.written([point], .csv).split(separator: "\r\n")
        #expect(csv[0].hasSuffix(",extra,road,confidence"))
        #expect(csv[1].hasSuffix(",,off-road"))
        #expect(try self.written([point], .text) == "1970-01-01T00:00:00Z 1,-2 off the road\n")
        point.road = "=Main \"Street\""
        point.confidence = .matched
        #expect(try self.written([point], .csv).contains(",\"'=Main \"\"Street\"\"\",matched\r\n"))
        #expect(try self.written([point], .text).hasSuffix(" on =Main \"Street\"\n"))
        let json = try JSONValue(json: Array(try self.written([point], .json).utf8))
        #expect(json["properties"]?["road"]?.text == point.road)
        #expect(try self.written([point], .gpx).contains("<trkpt lat=\"1\" lon=\"-2\">"))
    }
}
