import TestSupport
import Testing
import TrackingCore

@testable import TrackingHistory

@Suite struct HistorySimplifierTests {
    private func simplified(_ points: [Location], to count: Int) throws -> HistorySimplifier {
        var simplifier = try HistorySimplifier(maximumPoints: count)
        for point in points { simplifier.append(point) }
        return simplifier
    }

    /// The greatest distance of a point from the simplified track at its time. At a time with several positions, the
    /// nearest counts.
    private func error(of points: [Location], keeping kept: [Location]) -> Double {
        points.filter { !kept.contains($0) }.map { point in
            zip(kept, kept.dropFirst()).filter { $0.time <= point.time && point.time <= $1.time }.map { start, end in
                let whole = end.time.seconds - start.time.seconds
                guard whole > 0 else {
                    return max(
                        start.coordinate.distance(to: point.coordinate).value,
                        end.coordinate.distance(to: point.coordinate).value)
                }
                let fraction = (point.time.seconds - start.time.seconds) / whole
                return start.coordinate.interpolated(to: end.coordinate, fraction: fraction)
                    .distance(to: point.coordinate).value
            }.min() ?? .infinity
        }.max() ?? 0
    }

    /// A journey with turns, stops, jumps and uneven times, at any place of the world.
    private func journey(seed: UInt64) -> [Location] {
        var dice = SplitMix64(seed: seed)
        let latitude = Double.random(in: -90...90, using: &dice)
        let longitudes: [Double] = [179.99, -180, 0, .random(in: -180...180, using: &dice)]
        var points = [Points.at(1e9, latitude, longitudes[Int.random(in: 0..<4, using: &dice)])]
        let strides: [Double] = [1, 100, 10_000, 500_000]
        let stride = strides[Int.random(in: 0..<4, using: &dice)]
        let pauses: [Double] = [1, 1, 1, 0.01, 30]
        var bearing = 0.0
        for _ in 0..<Int.random(in: 1...400, using: &dice) {
            bearing += .random(in: -40...40, using: &dice)
            let isStanding = Int.random(in: 0..<5, using: &dice) == 0
            let last = points[points.count - 1]
            let place = last.coordinate.destination(
                bearing: bearing, distance: Meters(isStanding ? 0 : .random(in: 0...stride, using: &dice)))
            let pause = pauses[Int.random(in: 0..<5, using: &dice)]
            points.append(Location(coordinate: place, time: UnixTime(last.time.seconds + pause)))
        }
        return points
    }

    @Test(arguments: Seeds.first(300)) func theBoundHoldsForEveryDroppedPoint(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed &+ 1000)
        let points = self.journey(seed: seed)
        let count = Int.random(in: 2...60, using: &dice)
        let simplifier = try self.simplified(points, to: count)
        let kept = simplifier.points
        #expect(kept.count == min(count, points.count))
        #expect(kept.first == points.first && kept.last == points.last)
        let error = self.error(of: points, keeping: kept)
        #expect(error <= simplifier.bound.value + 1e-3, "seed \(seed): \(error) m is above \(simplifier.bound)")
    }

    @Test(arguments: Seeds.first(100)) func simultaneousPointsAreSimplified(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        var points = self.journey(seed: seed)
        for index in points.indices.dropFirst() where Bool.random(using: &dice) {
            points[index].time = points[index - 1].time
        }
        for index in points.indices.dropFirst() where points[index].time < points[index - 1].time {
            points[index].time = points[index - 1].time
        }
        let simplifier = try self.simplified(points, to: 10)
        #expect(simplifier.points.count == min(10, points.count))
        let error = self.error(of: points, keeping: simplifier.points)
        #expect(error <= simplifier.bound.value + 1e-3, "seed \(seed): \(error) m is above \(simplifier.bound)")
    }

    @Test func aHistoryThatFitsIsUnchanged() throws {
        let points = Points.walk(50, seed: 1)
        let simplifier = try self.simplified(points, to: 50)
        #expect(simplifier.points == points && simplifier.bound == 0)
    }

    @Test func pointsOnAStraightEvenTrackAreDropped() throws {
        // The track is straight and even, so its points can be dropped. One detour remains.
        let start = Points.at(0, 52, -8)
        var points = (0..<1000).map { index in
            Location(
                coordinate: start.coordinate.destination(bearing: 90, distance: Meters(Double(index) * 10)),
                time: UnixTime(Double(index)))
        }
        #expect(try self.simplified(points, to: 2).bound < 0.001)
        points[500].coordinate = points[500].coordinate.destination(bearing: 0, distance: 300)
        let simplifier = try self.simplified(points, to: 5)
        #expect(simplifier.points.contains(points[500]) && simplifier.bound < 1)
    }

    @Test func aStopOnAStraightRoadIsNotLost() throws {
        // The stop is visible only in the times.
        let points = (0..<600).map { second in
            let travelled = Double(min(second, 200) + max(0, second - 400)) * 10
            return Location(
                coordinate: Points.at(0, 52, -8).coordinate.destination(bearing: 90, distance: Meters(travelled)),
                time: UnixTime(Double(second)))
        }
        let kept = try self.simplified(points, to: 4)
        #expect(kept.points.map(\.time.seconds) == [0, 200, 400, 599] && kept.bound < 0.001)
    }

    /// The positions between two pieces are unknown.
    @Test func interruptionsOfTheTrackRemain() throws {
        func simplifier(_ count: Int, pieces: Int) throws -> HistorySimplifier {
            var simplifier = try HistorySimplifier(maximumPoints: count)
            for piece in 0..<pieces {
                simplifier.interrupt()
                for second in 0..<50 {
                    // Each piece is far from the previous one, and each pause is longer than the last.
                    let time = Double(piece * piece * 1000 + second)
                    simplifier.append(Points.at(time, Double(piece), Double(second) * 1e-4))
                }
            }
            return simplifier
        }
        let roomy = try simplifier(20, pieces: 4)
        #expect(
            roomy.pieces.map { [$0.first, $0.last].map { $0?.time.seconds } } == [
                [0, 49], [1000, 1049], [4000, 4049], [9000, 9049],
            ])
        #expect(roomy.bound < 0.01 && roomy.points.count == 20 && roomy.points == roomy.pieces.flatMap(\.self))
        // The ends of all pieces do not fit, so the shortest interruptions are joined.
        let tight = try simplifier(6, pieces: 4)
        #expect(tight.points.count == 6)
        #expect(tight.pieces.map { $0.first?.time.seconds } == [0, 4000, 9000])
        #expect(try simplifier(2, pieces: 4).pieces.map(\.count) == [2])
    }

    @Test(arguments: Seeds.first(100)) func theBoundHoldsInEachPiece(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        let points = self.journey(seed: seed)
        var simplifier = try HistorySimplifier(maximumPoints: Int.random(in: 2...40, using: &dice))
        for point in points {
            if Int.random(in: 0..<20, using: &dice) == 0 { simplifier.interrupt() }
            simplifier.append(point)
        }
        #expect(simplifier.points.count == min(simplifier.maximumPoints, points.count))
        let pieces = simplifier.pieces
        for piece in pieces {
            let (first, last) = (piece[0].time, piece[piece.count - 1].time)
            let error = self.error(of: points.filter { first <= $0.time && $0.time <= last }, keeping: piece)
            #expect(error <= simplifier.bound.value + 1e-3, "seed \(seed): \(error) m is above \(simplifier.bound)")
        }
        // Every dropped point is in one of the pieces.
        let outside = points.filter { point in
            !pieces.contains { $0[0].time <= point.time && point.time <= $0[$0.count - 1].time }
        }
        #expect(outside.isEmpty)
    }

    /// Two points in a row, then a pause. No point can be dropped before all short interruptions are joined.
    @Test func aTrackOfNothingButInterruptionsIsSimplified() throws {
        let count = 100_000
        var simplifier = try HistorySimplifier(maximumPoints: count)
        for index in 0...count {
            simplifier.interrupt()
            simplifier.append(Points.at(Double(index / 2 * 100 + index % 2), 52, Double(index) * 1e-4))
        }
        #expect(simplifier.points.count == count)
        #expect(simplifier.pieces.count == count / 2)
    }

    @Test func memoryIsBoundedByTheKeptPoints() throws {
        var simplifier = try HistorySimplifier(maximumPoints: 100)
        for index in 0..<20_000 {
            simplifier.append(Points.at(Double(index), Double(index % 90), Double(index % 180)))
        }
        #expect(simplifier.heldPoints == 101 && simplifier.points.count == 100 && simplifier.count == 20_000)
    }

    @Test(arguments: [-1, 0, 1, 1_000_001]) func aNumberThatMakesNoSenseIsRefused(count: Int) {
        #expect(throws: TrackingError.self) { try HistorySimplifier(maximumPoints: count) }
    }

    @Test func oneOrNoPointIsFine() throws {
        #expect(try self.simplified([], to: 2).points.isEmpty)
        #expect(try self.simplified([Points.full()], to: 2).points == [Points.full()])
    }
}
