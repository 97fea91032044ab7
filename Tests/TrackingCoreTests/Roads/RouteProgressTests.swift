import Testing

@testable import TrackingCore

@Suite struct RouteProgressTests {
    private static func place(_ north: Double, _ east: Double = 0) -> Coordinate {
        EstimateConversation.place(north: north, east: east)
    }

    private static func route(_ legs: [[(Double, Double)]], speed: Double = 10) -> Route {
        Route(
            legs: legs.map { leg in
                let shape = leg.map { self.place($0.0, $0.1) }
                let length = zip(shape, shape.dropFirst()).reduce(0) { $0 + $1.0.distance(to: $1.1).value }
                return Route.Leg(duration: .seconds(length / speed), length: Meters(length), shape: shape)
            })
    }

    @Test func aRouteWithoutAWayIsNone() {
        #expect(RouteProgress(Route(legs: [])) == nil)
        let leg = Route.Leg(duration: .seconds(1), length: 0, shape: [Self.place(0), Self.place(0)])
        #expect(RouteProgress(Route(legs: [leg])) == nil)
    }

    @Test func theDistanceAlongTheRouteIsCounted() throws {
        var progress = try #require(RouteProgress(Self.route([[(0, 0), (1000, 0)], [(1000, 0), (1000, 1000)]])))
        #expect(progress.stops.count == 2 && abs(progress.stops[1].length - 2000) < 1)
        #expect(progress.moved(to: Self.place(400, 20)).value.rounded() == 20)
        #expect(abs(progress.length - 400) < 1 && abs(progress.duration - 40) < 0.1)
        #expect(progress.moved(to: Self.place(990, 300)).value.rounded() == 10)
        #expect(abs(progress.length - 1300) < 2 && abs(progress.duration - 130) < 0.2)
        #expect(progress.moved(to: Self.place(500, 500)).value > 100)
        #expect(abs(progress.length - 1300) < 2, "a fix far from the route does not move the position")
    }

    @Test func eachSectionHasASpeedOfItsOwn() throws {
        let shape = [Self.place(0), Self.place(1000), Self.place(2000)]
        var leg = Route.Leg(
            duration: .seconds(150), length: 2000, shape: shape,
            sections: [.init(duration: .seconds(100), end: 1), .init(duration: .seconds(50), end: 2)])
        var progress = try #require(RouteProgress(Route(legs: [leg])))
        _ = progress.moved(to: Self.place(500))
        #expect(abs(progress.duration - 50) < 0.1)
        _ = progress.moved(to: Self.place(1500))
        #expect(abs(progress.duration - 125) < 0.1)
        // Sections that do not cover the leg count as one.
        for end in [1, 3] {
            leg.sections[1].end = end
            progress = try #require(RouteProgress(Route(legs: [leg])))
            _ = progress.moved(to: Self.place(500))
            #expect(abs(progress.duration - 37.5) < 0.1)
        }
    }

    /// The way out and the way back are one road.
    @Test func theWayBackIsNotReachedBeforeTheTurn() throws {
        var progress = try #require(RouteProgress(Self.route([[(0, 0), (3000, 0)], [(3000, 0), (0, 0)]])))
        for north in stride(from: 0.0, through: 3000, by: 50) { _ = progress.moved(to: Self.place(north)) }
        #expect(abs(progress.length - 3000) < 20)
        for north in stride(from: 2950.0, through: 1000, by: -50) { _ = progress.moved(to: Self.place(north)) }
        #expect(abs(progress.length - 5000) < 20)
    }

    @Test func aShortCutLeadsFurtherAlongTheRoute() throws {
        let detour = Self.route([[(0, 0), (0, 3000), (1000, 3000), (1000, 0)]])
        var progress = try #require(RouteProgress(detour))
        _ = progress.moved(to: Self.place(0, 10))
        #expect(progress.moved(to: Self.place(1000, 10)).value < 1)
        #expect(abs(progress.length - 6990) < 5)
    }

    @Test func theRemainingWayBeginsAtThePosition() throws {
        let route = Self.route([[(0, 0), (500, 0), (1000, 0)], [(1000, 0), (1000, 800)]])
        var progress = try #require(RouteProgress(route))
        _ = progress.moved(to: Self.place(600))
        let shape = progress.remainingShape
        #expect(shape.count == 3, "a point on a straight line describes nothing")
        #expect(shape[0].distance(to: Self.place(600)).value < 1 && shape.last == Self.place(1000, 800))
    }

    @Test func aLongWayIsDescribedWithFewPoints() {
        var generator = WireGenerator(seed: 3)
        let way = (0..<20_000).map { index in
            Self.place(Double(index) * 10, Double.random(in: 0...40, using: &generator))
        }
        let outline = way.outline(most: 1000)
        #expect(outline.count <= 1000 && outline.first == 0 && outline.last == way.count - 1)
        #expect(outline == outline.sorted())
    }

    @Test func thePaceIsTheRatioOfTheTimes() {
        var pace = TravelPace()
        #expect(pace.ratio == 1)
        for _ in 0..<600 { pace.travelled(expected: 1, actual: 1.3) }
        #expect(pace.ratio > 1.2 && pace.ratio < 1.3)
        let before = pace.ratio
        pace.travelled(expected: 0, actual: 3600)
        #expect(pace.ratio == before, "nothing is known before the trackable goes on")
        for _ in 0..<10 { pace.travelled(expected: 1, actual: 1.3) }
        #expect(pace.ratio < before + 0.05, "an hour at a stop is no pace")
    }

    @Test func theTravelBeforeAJourneyCountsAsTwoMinutes() {
        var pace = TravelPace()
        for _ in 0..<600 { pace.travelled(expected: 1, actual: 1.4) }
        pace.beganJourney()
        #expect(abs(pace.ratio - 1.2) < 0.01)
        let before = pace.ratio
        pace.beganJourney()
        #expect(pace.ratio == before)
    }

    private static func sides(_ band: EstimateBand, _ distance: Double, _ remaining: Double) -> [Double] {
        let sides = band.band(distance: distance, remaining: remaining)
        return [sides.early, sides.late]
    }

    @Test func theBandAdaptsToTheErrors() {
        var band = EstimateBand()
        #expect(Self.sides(band, 7000, 1000) == [150, 150])
        #expect(Self.sides(band, 100, 10) == [20, 20])
        for index in 0..<20 {
            band.estimated("\(index)", distance: 7000, eta: UnixTime(2000), remaining: 1000)
            band.estimated("\(index)", distance: 6000, eta: UnixTime(9000), remaining: 900)
            band.arrived(at: "\(index)", time: UnixTime(2400))
        }
        let (early, late) = band.band(distance: 7000, remaining: 1000)
        #expect(late > 380 && late < 500 && early < 100)
        #expect(Self.sides(band, 30_000, 1000) == [150, 150], "other distances are not affected")
        for index in 0..<200 {
            band.estimated("\(index)", distance: 7000, eta: UnixTime(2000), remaining: 1000)
            band.arrived(at: "\(index)", time: UnixTime(2000))
        }
        #expect(Self.sides(band, 7000, 1000) == [30, 30])
    }
}
