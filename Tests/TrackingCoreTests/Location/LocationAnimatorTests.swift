import Testing

@testable import TrackingCore

@Suite struct LocationAnimatorTests {
    private func place(_ latitude: Double, _ longitude: Double) -> Coordinate {
        Coordinate(latitude: latitude, longitude: longitude)!  // the tests' places are in range
    }

    private func update(
        _ latitude: Double, _ longitude: Double, bearing: Double? = nil, by way: [Coordinate] = []
    ) -> LocationUpdate {
        var location = Location(coordinate: self.place(latitude, longitude), time: UnixTime(0))
        location.bearing = bearing
        return LocationUpdate(
            location: location, intermediate: way.map { Location(coordinate: $0, time: UnixTime(0)) })
    }

    /// An animator at 0° 0° that expects an update every 10 s.
    private func animator(snapDistance: Meters? = nil) -> LocationAnimator {
        var animator = LocationAnimator(expectedInterval: .seconds(10), snapDistance: snapDistance)
        animator.updated(self.update(0, 0), now: .seconds(0))
        return animator
    }

    private func distance(_ frame: LocationAnimator.Frame?, _ place: Coordinate) -> Double {
        frame?.coordinate.distance(to: place).value ?? .infinity
    }

    @Test func withoutAnUpdateThereIsNoFrame() {
        #expect(LocationAnimator(expectedInterval: .seconds(1)).frame(at: .seconds(0)) == nil)
    }

    @Test func theFirstUpdatePutsTheMarkerThere() throws {
        let frame = try #require(self.animator().frame(at: .seconds(0)))
        #expect(frame.coordinate == self.place(0, 0))
        #expect(frame.bearing == nil)
        #expect(frame.hasRunOut)
    }

    @Test func theMarkerArrivesWhenTheNextUpdateIsExpected() throws {
        var animator = self.animator()
        animator.updated(self.update(0, 0.01), now: .seconds(10))
        #expect(animator.frame(at: .seconds(10))?.coordinate == self.place(0, 0))
        #expect(self.distance(animator.frame(at: .seconds(15)), self.place(0, 0.005)) < 0.001)
        let nearly = try #require(animator.frame(at: .seconds(19.999)))
        #expect(!nearly.hasRunOut)
        let end = try #require(animator.frame(at: .seconds(20)))
        #expect(end.coordinate == self.place(0, 0.01))
        #expect(end.hasRunOut)
        #expect(animator.frame(at: .seconds(500))?.coordinate == self.place(0, 0.01))
    }

    @Test func progressIsThatOfTime() {
        var animator = self.animator()
        animator.updated(self.update(0, 0.01), now: .seconds(10))
        #expect(animator.frame(at: .seconds(12.5))?.progress == 0.25)
        #expect(animator.frame(at: .seconds(5))?.progress == 0)
    }

    @Test func aDelayStretchesTheWay() {
        var animator = LocationAnimator(expectedInterval: .seconds(10), delay: .seconds(2))
        animator.updated(self.update(0, 0), now: .seconds(0))
        animator.updated(self.update(0, 0.01), now: .seconds(10))
        #expect(animator.frame(at: .seconds(21.9))?.hasRunOut == false)
        #expect(animator.frame(at: .seconds(22))?.hasRunOut == true)
    }

    @Test func withoutAnIntervalTheMarkerJumps() {
        var animator = LocationAnimator(expectedInterval: .zero)
        animator.updated(self.update(0, 0), now: .seconds(0))
        animator.updated(self.update(0, 0.01), now: .seconds(10))
        #expect(animator.frame(at: .seconds(10))?.coordinate == self.place(0, 0.01))
        #expect(animator.frame(at: .seconds(9))?.coordinate == self.place(0, 0.01))  // a clock read a little earlier
    }

    // MARK: The path

    @Test func intermediateLocationsAreWalkedThroughAtAnEvenSpeed() {
        var animator = self.animator()
        // East 1, north 1, east 2: four equal parts.
        animator.updated(
            self.update(0.001, 0.003, by: [self.place(0, 0.001), self.place(0.001, 0.001)]), now: .seconds(10))
        #expect(self.distance(animator.frame(at: .seconds(12.5)), self.place(0, 0.001)) < 0.01)
        #expect(self.distance(animator.frame(at: .seconds(15)), self.place(0.001, 0.001)) < 0.01)
        #expect(self.distance(animator.frame(at: .seconds(17.5)), self.place(0.001, 0.002)) < 0.01)
    }

    /// An enhancer fails and comes back: the marker leaves the road and returns to it without a jump, and goes on round
    /// the corner.
    @Test func theChangeBetweenRoadAndFixIsSmooth() throws {
        var animator = self.animator()
        let updates = [
            self.update(0, 0.001), self.update(0.001, 0.002, by: [self.place(0, 0.002)]),
            // The fix beside the road, the fix of the next moment, and that moment's position on the road.
            self.update(0.0021, 0.00205), self.update(0.0031, 0.00196), self.update(0.003, 0.002),
            self.update(0.003, 0.004, by: [self.place(0.003, 0.0035)]),
        ]
        var before = try #require(animator.frame(at: .seconds(0)))
        var corners = 0
        for step in 0..<7_000 {
            let now = MonotonicTime(.milliseconds(step * 10))
            if step % 1_000 == 0, step / 1_000 < updates.count { animator.updated(updates[step / 1_000], now: now) }
            let frame = try #require(animator.frame(at: now))
            // The longest way, 222 m in 10 s, is 0.22 m in each frame.
            #expect(before.coordinate.distance(to: frame.coordinate).value < 0.23, "\(step)")
            if self.distance(frame, self.place(0, 0.002)) < 0.12 { corners += 1 }
            before = frame
        }
        #expect(corners > 0)
        #expect(self.distance(before, self.place(0.003, 0.004)) < 0.01)
    }

    @Test func anEarlyUpdateIsReachedAlongTheRemainingPath() {
        var animator = self.animator()
        animator.updated(self.update(0, 0.002), now: .seconds(10))
        animator.updated(self.update(0.001, 0.002), now: .seconds(15))  // the marker is at 0.001
        #expect(self.distance(animator.frame(at: .seconds(15)), self.place(0, 0.001)) < 0.01)
        #expect(self.distance(animator.frame(at: .seconds(20)), self.place(0, 0.002)) < 0.01)
        #expect(self.distance(animator.frame(at: .seconds(25)), self.place(0.001, 0.002)) < 0.01)
    }

    @Test func theMarkerCatchesUpWithFastUpdates() {
        var animator = self.animator()
        for second in 1...200 {  // one a second where one every ten was expected
            animator.updated(self.update(0, Double(second) * 0.0001), now: .seconds(Double(second)))
        }
        // The marker is never further behind than one interval of ten updates.
        #expect(self.distance(animator.frame(at: .seconds(200)), self.place(0, 0.02)) < 111.2 * 1.01)
        // The marker reaches the last position.
        #expect(animator.frame(at: .seconds(210))?.coordinate == self.place(0, 0.02))
    }

    @Test func aFloodOfUpdatesIsBounded() {
        var animator = LocationAnimator(expectedInterval: .seconds(1_000))
        for step in 0..<5_000 {
            animator.updated(self.update(0, Double(step) * 0.00001), now: .seconds(Double(step) / 1_000))
        }
        #expect(animator.waypointCount <= LocationAnimator.maximumWaypoints)
        #expect(animator.frame(at: .seconds(2_000))?.coordinate == self.place(0, 4_999 * 0.00001))
    }

    @Test func theMarkerMovesSteadily() {
        var generator = SplitMix64(seed: 3)
        var animator = self.animator()
        var now = 0.0
        var last = self.place(0, 0)
        for step in 1...300 {
            animator.updated(self.update(0, Double(step) * 0.001), now: .seconds(now))
            let next = now + .random(in: 6...14, using: &generator)
            while now < next {
                now += 0.1
                guard let frame = animator.frame(at: .seconds(now)) else { return }
                // At 111 m in 10 s, no frame of 0.1 s jumps or moves backward.
                #expect(frame.coordinate.distance(to: last) < 12)
                #expect(frame.coordinate.longitude >= last.longitude)
                last = frame.coordinate
            }
        }
    }

    // MARK: Snapping

    @Test func aStepBeyondTheSnapDistanceIsNotWalked() {
        var animator = self.animator(snapDistance: 5_000)
        animator.updated(self.update(0, 0.04), now: .seconds(10))  // 4.4 km: walked
        #expect(animator.frame(at: .seconds(10))?.coordinate == self.place(0, 0))
        animator.updated(self.update(0, 0.09), now: .seconds(20))  // 5.6 km: snapped
        #expect(animator.frame(at: .seconds(20))?.coordinate == self.place(0, 0.09))
        #expect(animator.frame(at: .seconds(20))?.hasRunOut == true)
        #expect(animator.frame(at: .seconds(19))?.coordinate == self.place(0, 0.09))
    }

    @Test func afterASnapTheRestOfTheWayIsWalked() {
        var animator = self.animator(snapDistance: 5_000)
        animator.updated(self.update(0, 1.01, by: [self.place(0, 1)]), now: .seconds(10))
        #expect(animator.frame(at: .seconds(10))?.coordinate == self.place(0, 1))
        #expect(self.distance(animator.frame(at: .seconds(15)), self.place(0, 1.005)) < 0.001)
    }

    @Test func withoutASnapDistanceAnyStepIsWalked() {
        var animator = self.animator(snapDistance: nil)
        animator.updated(self.update(0, 90), now: .seconds(10))
        #expect(self.distance(animator.frame(at: .seconds(15)), self.place(0, 45)) < 0.001)
    }

    @Test func theMarkerCanBePutAtTheNewestPosition() {
        var animator = self.animator()
        animator.updated(self.update(0, 0.01), now: .seconds(10))
        animator.snap()
        #expect(animator.frame(at: .seconds(11))?.coordinate == self.place(0, 0.01))
        #expect(animator.frame(at: .seconds(11))?.hasRunOut == true)
    }

    // MARK: Bearing

    @Test(arguments: [(350.0, 10.0, 0.0), (10, 350, 0), (90, 180, 135), (0, 270, 315), (200, 160, 180)])
    func theBearingTurnsTheShortestWayRound(from: Double, to: Double, middle: Double) throws {
        var animator = LocationAnimator(expectedInterval: .seconds(10))
        animator.updated(self.update(0, 0, bearing: from), now: .seconds(0))
        animator.updated(self.update(0, 0.001, bearing: to), now: .seconds(10))
        #expect(animator.frame(at: .seconds(10))?.bearing == from)
        #expect(try abs(#require(animator.frame(at: .seconds(15))?.bearing) - middle) < 1e-6)
        #expect(animator.frame(at: .seconds(20))?.bearing == to)
    }

    @Test func withoutABearingTheStepDeterminesIt() throws {
        var animator = self.animator()
        animator.updated(self.update(0, 0.001), now: .seconds(10))
        #expect(try abs(#require(animator.frame(at: .seconds(15))?.bearing) - 90) < 1e-6)
        animator.updated(self.update(0, 0.001), now: .seconds(20))  // stationary, with the previous bearing
        #expect(try abs(#require(animator.frame(at: .seconds(30))?.bearing) - 90) < 1e-6)
    }

    @Test func aParkedMarkerTurnsInPlace() throws {
        var animator = LocationAnimator(expectedInterval: .seconds(10))
        animator.updated(self.update(0, 0, bearing: 0), now: .seconds(0))
        animator.updated(self.update(0, 0, bearing: 90), now: .seconds(10))
        #expect(try abs(#require(animator.frame(at: .seconds(15))?.bearing) - 45) < 1e-9)
        #expect(animator.frame(at: .seconds(15))?.coordinate == self.place(0, 0))
    }

    // MARK: The sphere

    @Test func theMarkerCrossesTheAntimeridianTheShortWay() {
        var animator = LocationAnimator(expectedInterval: .seconds(10), snapDistance: nil)
        animator.updated(self.update(0, 179.9), now: .seconds(0))
        animator.updated(self.update(0, -179.9), now: .seconds(10))
        #expect(self.distance(animator.frame(at: .seconds(12.5)), self.place(0, 179.95)) < 0.001)
        #expect(self.distance(animator.frame(at: .seconds(15)), self.place(0, 180)) < 0.001)
        #expect(self.distance(animator.frame(at: .seconds(17.5)), self.place(0, -179.95)) < 0.001)
    }

    @Test func theMarkerCrossesThePole() {
        var animator = LocationAnimator(expectedInterval: .seconds(10), snapDistance: nil)
        animator.updated(self.update(89, 30), now: .seconds(0))
        animator.updated(self.update(89, -150), now: .seconds(10))
        #expect(self.distance(animator.frame(at: .seconds(12.5)), self.place(89.5, 30)) < 0.001)
        #expect(self.distance(animator.frame(at: .seconds(15)), self.place(90, 0)) < 0.001)
        #expect(self.distance(animator.frame(at: .seconds(17.5)), self.place(89.5, -150)) < 0.001)
        let pole = self.place(-90, 12)
        #expect(pole.interpolated(to: self.place(-80, 77), fraction: 0.25).distance(to: self.place(-87.5, 77)) < 0.001)
    }

    @Test(arguments: UInt64(1)...4) func interpolationDividesTheGreatCircle(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        for _ in 0..<500 {
            let from = self.place(.random(in: -90...90, using: &generator), .random(in: -180...180, using: &generator))
            let to = from.destination(
                bearing: .random(in: 0..<360, using: &generator),
                distance: Meters(.random(in: 0.1...15_000_000, using: &generator)))
            let fraction = Double.random(in: 0...1, using: &generator)
            let between = from.interpolated(to: to, fraction: fraction)
            let whole = from.distance(to: to).value
            #expect(abs(from.distance(to: between).value - fraction * whole) < 0.001)
            #expect(abs(between.distance(to: to).value - (1 - fraction) * whole) < 0.001)
        }
    }

    @Test func interpolationEndsAtItsEndpoints() {
        let (from, to) = (self.place(12, 34), self.place(56, 78))
        #expect(from.interpolated(to: to, fraction: 0) == from)
        #expect(from.interpolated(to: to, fraction: 1) == to)
        #expect(from.interpolated(to: from, fraction: 0.3) == from)
        // Between antipodes no path is the shortest. The result is a point on one of the shortest paths.
        let opposite = self.place(-12, -146)
        #expect([from, opposite].contains(from.interpolated(to: opposite, fraction: 0.4)))
    }
}
