import Testing
import TrackingCore
import TrackingTesting

@testable import godwit

/// The values of `godwit demo --roads`: the plan, the drive, and the observations.
@Suite struct DemoRoadsTests {
    private let town = SyntheticRoads()
    private let begin = UnixTime(1_800_000_000)

    private func route() async throws -> Route {
        try await self.town.route(DemoRoadsPlan(around: DemoRoadsPlan.townCentre).request)
    }

    @Test func theDriveTakesAboutTenMinutesAndReachesTheFirstStopSoon() async throws {
        let drive = DemoRoadsDrive(along: try await self.route(), begin: self.begin)
        let arrivals = drive.arrivals.map { $0.since(self.begin).inSeconds }
        #expect(arrivals.count == 3 && (60...100).contains(arrivals[0]), "\(arrivals)")
        let end = try #require(drive.fixes.last).time.since(self.begin).inSeconds
        #expect((480...660).contains(end), "\(end)")
        #expect(drive.fixes.first?.time == self.begin)
        for (one, next) in zip(drive.fixes, drive.fixes.dropFirst()) {
            #expect(next.time.since(one.time) == .seconds(1))
        }
    }

    @Test func theFixesAreBesideTheRoadByAboutFiveMetres() async throws {
        let drive = DemoRoadsDrive(along: try await self.route(), begin: self.begin)
        let offsets = drive.fixes.map { self.town.distanceToRoad(from: $0.coordinate).value }
        #expect(offsets.allSatisfy { $0 <= DemoRoadsDrive.greatestError.value + 0.1 })
        #expect((2...5).contains(offsets.reduce(0, +) / Double(offsets.count)))
        #expect(drive.fixes == DemoRoadsDrive(along: try await self.route(), begin: self.begin).fixes)
    }

    @Test func theVanWaitsAtEachStop() async throws {
        let route = try await self.route()
        let (drive, journey) = (DemoRoadsDrive(along: route, begin: self.begin), DemoRoadsPlan.journey(along: route))
        for (arrival, stop) in zip(drive.arrivals, journey.stops) {
            let there = drive.fixes.filter { $0.time >= arrival && $0.time.since(arrival) < DemoRoadsDrive.stay }
            #expect(there.count == 30 && there.allSatisfy { $0.speed == 0 })
            #expect(there.allSatisfy { $0.coordinate.distance(to: stop.location) < stop.radius })
        }
    }

    private func estimate(_ first: Estimate.Stop) -> Estimate {
        Estimate(
            time: self.begin, basis: .route,
            stops: [first] + ["2", "3"].map { Estimate.Stop(id: $0, status: .enRoute) })
    }

    private func stop(_ eta: Double, status: Estimate.Status = .approaching) -> Estimate.Stop {
        let time = self.begin.advanced(by: .seconds(eta))
        guard status != .arrived else { return Estimate.Stop(id: "1", eta: time, status: status) }
        return Estimate.Stop(
            id: "1", eta: time, earliest: time.advanced(by: .seconds(-20)), latest: time.advanced(by: .seconds(20)),
            status: status)
    }

    @Test(arguments: [(75.0, true), (41, true), (39, false), (81, false)])
    func thePromiseIsKeptWithinTheFirstBand(arrival: Double, isKept: Bool) async throws {
        var seen = DemoRoadsObservations(DemoRoadsPlan.journey(along: try await self.route()), in: self.town)
        #expect(seen.estimated(self.estimate(self.stop(60))).isEmpty)
        #expect(seen.estimated(self.estimate(self.stop(100))).isEmpty)
        #expect(!seen.hasArrived && !seen.isPromiseKept)
        let arrived = seen.estimated(self.estimate(self.stop(arrival, status: .arrived)))
        #expect(arrived.map(\.id) == ["1"] && seen.hasArrived && seen.isPromiseKept == isKept)
        #expect(seen.estimated(self.estimate(self.stop(arrival, status: .arrived))).isEmpty)
    }

    private func update(at place: Coordinate, _ confidence: Enhancement.Confidence) -> LocationUpdate {
        var update = LocationUpdate(location: Location(coordinate: place, time: self.begin))
        update.enhancement = Enhancement(confidence: confidence, road: "Street 1")
        return update
    }

    @Test func positionsCountAsOnTheRoadOnlyIfNoneIsBesideIt() async throws {
        var seen = DemoRoadsObservations(DemoRoadsPlan.journey(along: try await self.route()), in: self.town)
        let street = SyntheticRoads.corner.destination(bearing: 90, distance: 100)
        for _ in 1...4 { seen.located(self.update(at: street, .matched)) }
        seen.located(self.update(at: street.destination(bearing: 0, distance: 20), .offRoad))
        #expect(!seen.isOnRoad && seen.matched == 4)
        seen.located(self.update(at: street, .matched))
        #expect(seen.isOnRoad && seen.greatestOffset < 0.1)
        seen.located(self.update(at: street.destination(bearing: 0, distance: 2), .matched))
        #expect(!seen.isOnRoad)
    }

    @Test func theLineHasTheRoadAndTheNextArrival() async throws {
        var seen = DemoRoadsObservations(DemoRoadsPlan.journey(along: try await self.route()), in: self.town)
        #expect(seen.line(now: self.begin) == "no position on the road yet · no arrival at Depot estimated yet")
        seen.located(self.update(at: SyntheticRoads.corner, .matched))
        _ = seen.estimated(self.estimate(self.stop(60)))
        let line = seen.line(now: self.begin)
        #expect(
            line.wholeMatch(of: #/on Street 1 · arrives at Depot \d\d:\d\d \(\d\d:\d\d to \d\d:\d\d\)/#) != nil,
            "\(line)")
    }
}
