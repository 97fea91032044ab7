import Testing
import TrackingCore

@testable import TrackingRoads

/// The intermediate positions between two fixes.
@Suite struct TravelledWayTests {
    private let shape = [(47.0, 9.0), (47.001, 9.0), (47.001, 9.002), (47.002, 9.002)]
        .map { Coordinate(latitude: $0.0, longitude: $0.1)! }

    private func fixes(_ times: [Double]) -> [MatchRequest.Point] {
        times.map { MatchRequest.Point(coordinate: self.shape[0], time: UnixTime($0)) }
    }

    private func point(_ place: Coordinate, _ segment: Int?) -> RoadMatch.Point {
        RoadMatch.Point(
            coordinate: place, confidence: segment == nil ? .offRoad : .matched, edge: segment == nil ? nil : 0,
            segment: segment)
    }

    @Test func theWayFollowsTheCornersAtTimesByDistance() {
        let match = RoadMatch(
            points: [self.point(self.shape[0], 0), self.point(self.shape[3], 2)], edges: [], shape: self.shape)
        let way = TravelledWay.between(match, of: self.fixes([100, 140]), from: 0, to: 1)
        #expect(way.map(\.coordinate) == Array(self.shape[1...2]))
        let legs = (0...2).map { self.shape[$0].distance(to: self.shape[$0 + 1]).value }
        #expect(abs(way[0].time.seconds - (100 + 40 * legs[0] / legs.reduce(0, +))) < 0.001)
        #expect(way[0].time < way[1].time)
        #expect(way[1].time < UnixTime(140))
    }

    /// The time at a matched point between both fixes is known.
    @Test func theTimesFollowTheFixesBetween() {
        let match = RoadMatch(
            points: [self.point(self.shape[0], 0), self.point(self.shape[1], 1), self.point(self.shape[3], 2)],
            edges: [],
            shape: self.shape)
        let way = TravelledWay.between(match, of: self.fixes([100, 130, 140]), from: 0, to: 2)
        #expect(way.first?.coordinate == self.shape[1])
        #expect(abs((way.first?.time.seconds ?? 0) - 130) < 0.001)
    }

    @Test func offTheRoadThereIsNoWay() {
        let match = RoadMatch(
            points: [self.point(self.shape[0], nil), self.point(self.shape[3], 2)], edges: [], shape: self.shape)
        #expect(TravelledWay.between(match, of: self.fixes([100, 140]), from: 0, to: 1).isEmpty)
    }

    @Test func aLongWayHasAtMostSixtyPoints() {
        let long = (0...1000).map { Coordinate(latitude: 47 + Double($0) * 0.0001, longitude: 9)! }
        let match = RoadMatch(
            points: [self.point(long[0], 0), self.point(long[1000], 999)], edges: [], shape: long)
        let way = TravelledWay.between(match, of: self.fixes([0, 1000]), from: 0, to: 1)
        #expect(way.count == TravelledWay.maximumPoints)
        #expect(way.map(\.time) == way.map(\.time).sorted())
    }
}
