import Testing
import TrackingCore

/// Updates, and the moments at which a marker is drawn, for the page's animator and for `LocationAnimator`.
struct AnimatorCase: Encodable {
    struct Place: Encodable {
        var lat: Double
        var lng: Double
        var bearing: Double?
    }

    /// A moment: the updates that arrive, and a frame.
    struct Step: Encodable {
        /// In ms.
        var now: Double
        var places: [Place] = []
        /// `true` if the marker first moves to its end.
        var snaps = false
    }

    /// In ms.
    var interval: Double
    /// In ms.
    var delay = 0.0
    /// In metres.
    var snap = 10_000.0
    var steps: [Step]

    /// Returns the frames: latitude, longitude, bearing or -1, and 1 when the animation has ended.
    func played() throws -> [[Double]] {
        var animator = LocationAnimator(
            expectedInterval: .milliseconds(Int64(self.interval)), delay: .milliseconds(Int64(self.delay)),
            snapDistance: Meters(self.snap))
        return try self.steps.map { step in
            let now = MonotonicTime(.milliseconds(Int64(step.now)))
            if step.snaps { animator.snap() }
            let fixes = try step.places.map { place in
                var fix = Location(
                    coordinate: try #require(Coordinate(latitude: place.lat, longitude: place.lng)), time: UnixTime(1))
                fix.bearing = place.bearing
                return fix
            }
            if let last = fixes.last {
                animator.updated(LocationUpdate(location: last, intermediate: Array(fixes.dropLast())), now: now)
            }
            guard let frame = animator.frame(at: now) else { return [] }
            return [
                frame.coordinate.latitude, frame.coordinate.longitude, frame.bearing ?? -1, frame.hasRunOut ? 1 : 0,
            ]
        }
    }

    private static func frames(_ times: Double...) -> [Step] { times.map { Step(now: $0) } }

    static let all: [AnimatorCase] = [
        // The frames before the first update, after the first, an early and a late one, and at the end.
        AnimatorCase(
            interval: 1000,
            steps: frames(0) + [Step(now: 10, places: [Place(lat: 52, lng: -8)])] + frames(20, 900)
                + [Step(now: 1000, places: [Place(lat: 52.0005, lng: -8.001)])] + frames(1000, 1250, 1600)
                + [Step(now: 1700, places: [Place(lat: 52.001, lng: -8.0003)])] + frames(1701, 2000, 2699, 2700, 9000)
                + [Step(now: 9500, places: [Place(lat: 52.0012, lng: -8.0001)])] + frames(9700, 11_000)),
        // An update with skipped positions and a delay. Bearings turn the shorter way, across north.
        AnimatorCase(
            interval: 2000, delay: 500,
            steps: [Step(now: 0, places: [Place(lat: 10, lng: 20, bearing: 350)])]
                + [
                    Step(
                        now: 100,
                        places: [
                            Place(lat: 10.001, lng: 20.0005), Place(lat: 10.0015, lng: 20.002),
                            Place(lat: 10.003, lng: 20.002, bearing: 10),
                        ])
                ] + frames(101, 400, 900, 1500, 2100, 2599, 2600)
                + [Step(now: 2700, places: [Place(lat: 10.003, lng: 20.002, bearing: 200)])]
                + frames(3000, 4000, 5200)),
        // Across the antimeridian in both directions.
        AnimatorCase(
            interval: 1000, snap: 1e6,
            steps: [Step(now: 0, places: [Place(lat: -17, lng: 179.99)])]
                + [Step(now: 500, places: [Place(lat: -17.01, lng: -179.98)])] + frames(600, 833, 834, 1200)
                + [Step(now: 1300, places: [Place(lat: -17.02, lng: 179.97)])] + frames(1400, 1800, 2300)),
        // Beyond the snap distance, then near, on the equator and at a pole.
        AnimatorCase(
            interval: 1000,
            steps: [Step(now: 0, places: [Place(lat: 0, lng: 0)])]
                + [Step(now: 100, places: [Place(lat: 0.5, lng: 0.5), Place(lat: 0.501, lng: 0.502)])]
                + frames(200, 700, 1100) + [Step(now: 1200, places: [Place(lat: 89.99, lng: 10)])]
                + [Step(now: 1300, places: [Place(lat: 89.99, lng: -170)])] + frames(1400, 1799, 2000)),
        // Round two corners of a road, back to the position beside the road, and on the road again.
        AnimatorCase(
            interval: 2000,
            steps: [Step(now: 0, places: [Place(lat: 47.16, lng: 9.51)])]
                + [
                    Step(
                        now: 2000,
                        places: [
                            Place(lat: 47.16, lng: 9.5105), Place(lat: 47.1603, lng: 9.5105),
                            Place(lat: 47.1603, lng: 9.5111),
                        ])
                ] + frames(2400, 2800, 3200, 3600, 3999)
                + [Step(now: 6000, places: [Place(lat: 47.16035, lng: 9.5119)])] + frames(6100, 7000)
                + [Step(now: 7100, places: [Place(lat: 47.1603, lng: 9.5119)])] + frames(7101, 8000, 9100)),
        // Kilometres at a low rate, on a page that was hidden for a time.
        AnimatorCase(
            interval: 60_000,
            steps: [Step(now: 0, places: [Place(lat: 60, lng: 5)])]
                + [Step(now: 60_000, places: [Place(lat: 60.02, lng: 5.1, bearing: 80)])]
                + frames(70_000, 90_000) + [Step(now: 95_000, snaps: true)]
                + [Step(now: 96_000, places: [Place(lat: 60.05, lng: 5.15)])] + frames(100_000, 156_000)),
    ]
}
