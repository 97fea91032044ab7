import TrackingCore

/// A drive along a route past its stops, as a receiver measures it: one fix a second, wrong by about 5 m.
///
/// On each leg the van drives at the leg's mean speed, and it waits at each stop for ``stay``. The same route and the
/// same begin always give the same fixes.
struct DemoRoadsDrive: Sendable {
    /// The time for which the van waits at each stop.
    static let stay: Duration = .seconds(30)
    /// The greatest distance from the true position to a fix.
    static let greatestError: Meters = 10

    /// The fixes, in the order of their times.
    private(set) var fixes: [Location] = []
    /// The time at which the van reaches each stop.
    private(set) var arrivals: [UnixTime] = []
    private var generator = SplitMix64(seed: 1)

    /// Makes the drive along a route that begins at a given time.
    init(along route: Route, begin: UnixTime) {
        var start = begin
        for leg in route.legs {
            let way = DemoRoadsWay(leg.shape)
            let speed = way.length / max(1, leg.duration.inSeconds)
            let end = start.advanced(by: leg.duration)
            self.measure(from: start, to: end) { way.place(at: speed * $0.since(start).inSeconds, speed: speed) }
            self.arrivals.append(end)
            start = end.advanced(by: Self.stay)
            self.measure(from: end, to: start) { _ in way.place(at: way.length, speed: 0) }
        }
    }

    /// Appends the fixes of each full second after the last fix, up to a time.
    private mutating func measure(from start: UnixTime, to end: UnixTime, _ place: (UnixTime) -> DemoRoadsWay.Place) {
        var time = self.fixes.last.map { $0.time.advanced(by: .seconds(1)) } ?? start
        while time < end {
            self.append(place(time), at: time)
            time = time.advanced(by: .seconds(1))
        }
    }

    private mutating func append(_ place: DemoRoadsWay.Place, at time: UnixTime) {
        let error = Meters(Double.random(in: 0...Self.greatestError.value, using: &self.generator))
        let direction = Double.random(in: 0..<360, using: &self.generator)
        var fix = Location(
            coordinate: place.coordinate.destination(bearing: direction, distance: error), time: time)
        fix.accuracyHorizontal = Self.greatestError.value / 2
        fix.speed = place.speed
        fix.bearing = place.speed > 0 ? place.bearing : nil
        self.fixes.append(fix)
    }

    /// The drive as a recording in JSON Lines, which the agent replays.
    var recording: [UInt8] { self.fixes.flatMap { LocationCodec.encodeFeature($0) + [0x0A] } }
}

/// The way of one leg, which is driven at one speed.
private struct DemoRoadsWay {
    /// A position of the demo's vehicle on the leg, with its bearing in degrees and its speed in metres a second.
    struct Place {
        var coordinate: Coordinate
        var bearing: Double
        var speed: Double
    }

    private let shape: [Coordinate]
    /// The length of each segment, in metres.
    private let lengths: [Double]
    /// The length of the way, in metres.
    let length: Double

    init(_ shape: [Coordinate]) {
        self.shape = shape
        self.lengths = zip(shape, shape.dropFirst()).map { $0.distance(to: $1).value }
        self.length = self.lengths.reduce(0, +)
    }

    /// Returns the position at a distance from the start, at most at the end of the way.
    func place(at distance: Double, speed: Double) -> Place {
        var rest = min(max(0, distance), self.length)
        var index = 0
        while index < self.lengths.count - 1, rest > self.lengths[index] {
            rest -= self.lengths[index]
            index += 1
        }
        let (start, end) = (self.shape[index], self.shape[index + 1])
        let fraction = self.lengths[index] > 0 ? min(1, rest / self.lengths[index]) : 1
        return Place(
            coordinate: start.interpolated(to: end, fraction: fraction), bearing: start.bearing(to: end), speed: speed)
    }
}
