import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingHistory

@Suite struct TripDetectorTests {
    private static let home = Points.at(0, 52.63, -8.66).coordinate

    /// A history that is built step by step, with one point a second.
    private struct Journey {
        var points: [Location] = [Location(coordinate: home, time: UnixTime(1_777_887_000))]
        var last: Location { self.points[self.points.count - 1] }

        mutating func drive(_ seconds: Int, speed: Double, bearing: Double = 90) {
            for _ in 0..<seconds {
                self.add(self.last.coordinate.destination(bearing: bearing, distance: Meters(speed)), after: 1)
            }
        }

        mutating func stand(_ seconds: Int) {
            for _ in 0..<seconds { self.add(self.last.coordinate, after: 1) }
        }

        mutating func add(_ place: Coordinate, after seconds: Double, accuracy: Double? = nil) {
            var point = Location(coordinate: place, time: UnixTime(self.last.time.seconds + seconds))
            point.accuracyHorizontal = accuracy
            self.points.append(point)
        }
    }

    private func findings(
        _ points: [Location], _ rules: TripDetector.Rules = .init()
    ) throws -> [TripDetector.Finding] {
        var detector = try TripDetector(rules: rules)
        return points.flatMap { detector.append($0) } + detector.finish()
    }

    private func kinds(_ findings: [TripDetector.Finding]) -> String {
        findings.map {
            switch $0 {
            case .trip: "T"
            case .stop: "S"
            }
        }.joined()
    }

    private func trips(_ findings: [TripDetector.Finding]) -> [DetectedTrip] {
        findings.compactMap { if case .trip(let trip) = $0 { trip } else { nil } }
    }

    @Test func aDriveBetweenTwoStopsIsOneTrip() throws {
        var journey = Journey()
        journey.stand(600)
        journey.drive(300, speed: 15)
        journey.stand(60)  // a light
        journey.drive(300, speed: 20)
        journey.stand(600)
        let findings = try self.findings(journey.points)
        #expect(self.kinds(findings) == "STS")
        guard case .stop(let first) = findings[0], case .trip(let trip) = findings[1],
            case .stop(let last) = findings[2]
        else { return }
        // The path within the radius of a stop belongs to the stop.
        #expect((10_050...10_500).contains(trip.distance.value), "\(trip.distance)")
        #expect((600...660).contains(trip.duration.inSeconds), "\(trip.duration)")
        #expect(abs(try #require(trip.topSpeed) - 20) < 0.1)
        #expect(abs((trip.averageSpeed ?? 0) - trip.distance.value / trip.duration.inSeconds) < 0.001)
        #expect(trip.start == first.end && trip.end == last.start)
        #expect(first.place.distance(to: Self.home) < 20)
        #expect(last.place.distance(to: journey.last.coordinate) < 20)
        #expect((600...615).contains(first.duration.inSeconds) && (600...615).contains(last.duration.inSeconds))
    }

    @Test func aStopIsOneOfTheSetLength() throws {
        for (seconds, expected) in [(120, "T"), (240, "TST")] {
            var journey = Journey()
            journey.drive(300, speed: 20)
            journey.stand(seconds)
            journey.drive(300, speed: 20)
            #expect(try self.kinds(self.findings(journey.points)) == expected, "\(seconds) s")
        }
    }

    @Test func radiusAndDurationAreConfigurable() throws {
        var journey = Journey()
        journey.drive(300, speed: 20)
        journey.stand(40)
        journey.drive(300, speed: 20)
        var rules = TripDetector.Rules()
        rules.stopDuration = .seconds(30)
        rules.stopRadius = 50
        #expect(try self.kinds(self.findings(journey.points, rules)) == "TST")
        #expect(try self.kinds(self.findings(journey.points)) == "T")
    }

    @Test func aWanderAroundAPlaceIsNoTrip() throws {
        var dice = SplitMix64(seed: 5)
        var journey = Journey()
        for _ in 0..<2000 {
            let place = Self.home.destination(
                bearing: .random(in: 0..<360, using: &dice), distance: Meters(.random(in: 0...90, using: &dice)))
            journey.add(place, after: 5)
        }
        #expect(try self.kinds(self.findings(journey.points)) == "S")
    }

    @Test func aGapThatLeadsElsewhereEndsTheTrip() throws {
        var journey = Journey()
        journey.drive(300, speed: 20)
        journey.add(journey.last.coordinate.destination(bearing: 90, distance: 50_000), after: 3600)
        journey.drive(300, speed: 20)
        let findings = try self.findings(journey.points)
        #expect(self.kinds(findings) == "TT")
        for case .trip(let trip) in findings {
            #expect(abs(trip.distance.value - 6000) < 1 && trip.duration == .seconds(300))
        }
    }

    @Test func aTunnelDoesNotEndTheTrip() throws {
        var journey = Journey()
        journey.drive(300, speed: 20)
        journey.add(journey.last.coordinate.destination(bearing: 90, distance: 8000), after: 400)
        journey.drive(300, speed: 20)
        let findings = try self.findings(journey.points)
        #expect(self.kinds(findings) == "T")
        if case .trip(let trip) = findings[0] { #expect(abs(trip.distance.value - 20_000) < 1) }
    }

    @Test func aGapInOnePlaceIsAStop() throws {
        var journey = Journey()
        journey.drive(300, speed: 20)
        journey.add(journey.last.coordinate.destination(bearing: 0, distance: 20), after: 30_000)
        journey.drive(300, speed: 20)
        let findings = try self.findings(journey.points)
        #expect(self.kinds(findings) == "TST")
        if case .stop(let stop) = findings[1] { #expect((30_000...30_030).contains(stop.duration.inSeconds)) }
    }

    @Test func badPointsAndOldOnesDoNotCount() throws {
        var journey = Journey()
        journey.drive(300, speed: 20)
        let good = try self.findings(journey.points)
        let last = journey.last
        for (place, accuracy) in [(5000.0, 201.0), (9000, 1000)] {
            journey.add(
                last.coordinate.destination(bearing: 0, distance: Meters(place)), after: 0.1, accuracy: accuracy)
        }
        journey.points.append(Points.at(last.time.seconds, 10, 10))
        journey.points.append(Points.at(last.time.seconds - 1, 10, 10))
        #expect(try self.findings(journey.points) == good)
    }

    @Test func theSpeedOfThePointsIsUsed() throws {
        var journey = Journey()
        journey.drive(60, speed: 20)
        for index in journey.points.indices { journey.points[index].speed = index == 30 ? 25 : 19 }
        let findings = try self.findings(journey.points)
        if case .trip(let trip) = findings.first { #expect(trip.topSpeed == 25) }
        #expect(self.kinds(findings) == "T")
    }

    @Test func aCrossingOfTheAntimeridianIsAShortWay() throws {
        var journey = Journey()
        journey.points = [Points.at(0, -17, 179.99)]
        journey.drive(300, speed: 20)
        let findings = try self.findings(journey.points)
        if case .trip(let trip) = findings.first { #expect(abs(trip.distance.value - 6000) < 1) }
        #expect(self.kinds(findings) == "T")
    }

    @Test func fewPointsAreNoTrip() throws {
        #expect(try self.findings([]).isEmpty)
        #expect(try self.findings([Points.full()]).isEmpty)
        var journey = Journey()
        journey.drive(5, speed: 20)
        #expect(try self.findings(journey.points).isEmpty)
    }

    @Test(arguments: Seeds.first(50)) func theTimeIsDividedAndNothingIsOutOfOrder(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        var journey = Journey()
        for _ in 0..<20 {
            journey.drive(
                .random(in: 1...200, using: &dice), speed: .random(in: 0...30, using: &dice),
                bearing: .random(in: 0..<360, using: &dice))
            journey.stand(.random(in: 0...400, using: &dice))
            if Int.random(in: 0..<5, using: &dice) == 0 {
                let far = journey.last.coordinate.destination(
                    bearing: 9, distance: Meters(.random(in: 0...5000, using: &dice)))
                journey.add(far, after: .random(in: 1...2000, using: &dice))
            }
        }
        let spans = try self.findings(journey.points).map { finding in
            switch finding {
            case .trip(let trip): (trip.start.time, trip.end.time)
            case .stop(let stop): (stop.start.time, stop.end.time)
            }
        }
        #expect(spans.allSatisfy { $0.0 < $0.1 })
        #expect(zip(spans, spans.dropFirst()).allSatisfy { $0.1 <= $1.0 })
    }

    @Test func rulesThatMakeNoSenseAreRefused() {
        var rules = TripDetector.Rules()
        rules.stopRadius = 0
        #expect(throws: TrackingError.self) { try TripDetector(rules: rules) }
    }

    @Test(.enabled(if: Tracks.folder != nil, "the shared recordings are not here (GODWIT_TRACKS)"))
    func theBusToLimerickIsOneTripOfItsLength() throws {
        let file = try Data(contentsOf: URL(filePath: Tracks.path("limerick_bus/304_to_UL_2019-02-18.gpx")))
        let points = read([[UInt8](file)[...]], .gpx).events.fixes
        #expect(points.count > 2000)
        let whole = zip(points, points.dropFirst()).reduce(0.0) {
            $0 + $1.0.coordinate.distance(to: $1.1.coordinate).value
        }
        // In traffic jams the bus moves less than 200 m in 180 s, which is a stop. With a stricter rule the drive is
        // one trip.
        for (radius, seconds, trips) in [(Meters(200), 180, 4), (Meters(50), 300, 1)] {
            var rules = TripDetector.Rules()
            rules.stopRadius = radius
            rules.stopDuration = .seconds(seconds)
            let found = self.trips(try self.findings(points, rules))
            let travelled = found.reduce(0.0) { $0 + $1.distance.value }
            print(
                "limerick:", found.map { (Int($0.distance.value), Int($0.duration.inSeconds), $0.topSpeed ?? 0) }, whole
            )
            #expect(found.count == trips)
            #expect(travelled <= whole && travelled > 0.8 * whole)
            #expect(found.allSatisfy { $0.topSpeed ?? 0 < 35 })
        }
    }

    @Test(.enabled(if: Tracks.folder != nil, "the shared recordings are not here (GODWIT_TRACKS)"))
    func theCarInMunichDrivesOneTrip() throws {
        let points = try self.munich()
        #expect(points.count == 1194)
        let findings = try self.findings(points)
        #expect(self.kinds(findings) == "T")
        let trip = try #require(self.trips(findings).first)
        print("munich:", trip.distance, trip.duration, trip.averageSpeed ?? 0, trip.topSpeed ?? 0)
        #expect((13_000...14_000).contains(trip.distance.value) && trip.duration > .seconds(1190))
        // The recording jumps by 470 m in one second; without speeds in the points, the jump is part of the top speed.
        #expect(trip.topSpeed ?? 0 < 50 && trip.averageSpeed ?? 0 > 10)
    }

    /// The lines have the form `{"point":"POINT(lon lat)","time":"2014-09-10 06:54:07+0200"}`.
    private func munich() throws -> [Location] {
        struct Sample: Decodable {
            let point: String
            let time: String
        }
        let file = try Data(contentsOf: URL(filePath: Tracks.path("munich_drive/x0001-001.json")))
        return try JSONDecoder().decode([Sample].self, from: file).compactMap { sample in
            let numbers = sample.point.split { !"0123456789.-".contains($0) }.compactMap { Double($0) }
            let time = try HistoryTime.moment(sample.time, now: UnixTime(0))
            return numbers.count == 2 ? Points.at(time.seconds, numbers[1], numbers[0]) : nil
        }
    }
}
