import Testing

@testable import TrackingCore

/// docs/reference/resolution.md, "Near": the estimate of the arrival.
@Suite struct ArrivalEstimateTests {
    private static let time = UnixTime(1_700_000_000)
    private let destination = Location.fix(north: 10_000, at: 0).coordinate
    private var own: String { Journey.Stop.id(ofDestination: self.destination) }

    private func after(_ seconds: Double) -> UnixTime { Self.time.advanced(by: .seconds(seconds)) }

    private func estimate(_ stops: [Estimate.Stop]) -> ArrivalEstimate {
        var value = ArrivalEstimate()
        value.received(Estimate(time: Self.time, basis: .route, stops: stops, route: [self.destination]))
        return value
    }

    private func stop(
        _ id: String, _ seconds: Double?, _ status: Estimate.Status = .enRoute
    ) -> Estimate.Stop {
        Estimate.Stop(id: id, eta: seconds.map { self.after($0) }, distance: 900, status: status)
    }

    @Test func anEstimateCountsForAMinute() {
        let value = self.estimate([self.stop(self.own, 300)])
        #expect(value.arrival(at: self.destination, now: self.after(59))?.eta == self.after(300))
        #expect(value.arrival(at: self.destination, now: self.after(60)) == nil)
        // One from the future counts within the tolerance of live positions.
        #expect(value.arrival(at: self.destination, now: self.after(-60)) != nil)
        #expect(value.arrival(at: self.destination, now: self.after(-61)) == nil)
        #expect(value.arrival(at: self.destination, now: nil) == nil, "a clock that is not set cannot judge the age")
    }

    @Test func theStopOfTheDestinationCounts() {
        let value = self.estimate([self.stop("4711", 100), self.stop(self.own, 300)])
        #expect(value.arrival(at: self.destination, now: Self.time)?.eta == self.after(300))
        #expect(value.arrival(at: Location.origin, now: Self.time) == nil)
        #expect(value.arrival(at: nil, now: Self.time)?.eta == self.after(100))
    }

    @Test func withoutADestinationTheNextStopCounts() {
        let value = self.estimate([self.stop("1", -60, .arrived), self.stop("2", 100), self.stop("3", 200)])
        #expect(value.arrival(at: nil, now: Self.time)?.eta == self.after(100))
        #expect(value.hasNextStop(at: self.after(179)))
        #expect(!value.hasNextStop(at: self.after(180)))
        #expect(self.estimate([self.stop("1", 0, .arrived)]).arrival(at: nil, now: Self.time) == nil)
        #expect(!self.estimate([self.stop("1", 0, .arrived)]).hasNextStop(at: Self.time))
    }

    @Test func anArrivalThatIsUnknownOrOverIsNone() {
        #expect(
            self.estimate([self.stop(self.own, nil, .unknown)]).arrival(at: self.destination, now: Self.time) == nil)
        #expect(self.estimate([self.stop(self.own, 0, .arrived)]).arrival(at: self.destination, now: Self.time) == nil)
        var cleared = self.estimate([self.stop(self.own, 300)])
        cleared.received(nil)
        #expect(cleared.arrival(at: self.destination, now: Self.time) == nil)
    }

    @Test func theDistanceIsCountedDownUntilTheArrival() throws {
        let arrival = try #require(
            self.estimate([self.stop(self.own, 90)]).arrival(at: self.destination, now: Self.time))
        #expect(arrival.distance(at: Self.time) == 900)
        #expect(arrival.distance(at: self.after(30)) == 600)
        #expect(arrival.distance(at: self.after(120)) == 0)
        #expect(arrival.distance(at: self.after(-30)) == 900)
    }

    @Test func theJourneyOfADestinationIsAPublishersAndCanBeEncoded() throws {
        let places = [self.destination, Coordinate(latitude: -89.123456789, longitude: -179.123456789)]
        for place in places {
            let place = try #require(place)
            let journey = Journey(to: place)
            #expect(journey.isOfPublisher)
            let decoded = try MessageCodec.decodeJourney(try MessageCodec.encode(journey))
            #expect(decoded == journey)
        }
        let nearby = try #require(Coordinate(latitude: 47.14, longitude: 9.52))
        #expect(Journey(to: nearby).stops.map(\.id) == ["destination:9.52,47.14"])
        #expect(Journey(to: nearby).stops[0].radius == Journey.Stop.defaultRadius)
        var other = Journey(to: nearby)
        other.stops.append(Journey.Stop(id: "4711", location: nearby))
        #expect(!other.isOfPublisher)
        #expect(!Journey(stops: [Journey.Stop(id: "4711", location: nearby)]).isOfPublisher)
    }
}
