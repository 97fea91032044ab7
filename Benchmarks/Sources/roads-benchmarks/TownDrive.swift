import BenchmarkSupport
import TrackingCore
import TrackingTesting

/// A drive through the town with its true roads and its fixes.
struct TownDrive: Sendable {
    /// The numbers of the road pieces that the vehicle uses.
    let pieces: Set<UInt64>
    private let drive: Drive
    /// The times in the tunnel, in seconds since the start.
    private let hidden: [ClosedRange<Double>]

    /// The part at both ends of a drive that has no fixes, in seconds: at a crossing, the road is ambiguous.
    private static let margin = 8.0

    /// Returns a drive between random crossings through a special place of the town.
    static func random(
        in town: Town, through place: Town.Place, using generator: inout SplitMix64
    ) async throws -> TownDrive {
        while true {
            let start = Self.crossing(using: &generator)
            let stops = [town.via(place), Self.crossing(using: &generator)]
            guard start.distance(to: stops[1]).value >= 800, stops[0].distance(to: start).value >= 300,
                stops[0].distance(to: stops[1]).value >= 300
            else { continue }
            let route = try await town.engine.route(RouteRequest(start: start, stops: stops, profile: .auto))
            var shape: [Coordinate] = []
            for point in route.legs.flatMap(\.shape).map(\.rounded) where point != shape.last { shape.append(point) }
            // A drive that turns on the road at the special place is drawn again.
            let isTurning = zip(shape, shape.dropFirst(2)).contains { $0 == $1 }
            if !isTurning { return try TownDrive(in: town, along: shape, using: &generator) }
        }
    }

    private init(in town: Town, along shape: [Coordinate], using generator: inout SplitMix64) throws {
        let pace = generator.variation()
        let drive = try Drive(along: shape) { start, end in
            try town.piece(from: start, to: end).speedLimit * 0.9 * pace
        }
        var pieces: Set<UInt64> = []
        var hidden: [ClosedRange<Double>] = []
        for (start, end) in zip(drive.places, drive.places.dropFirst()) {
            let piece = try town.piece(from: start.coordinate, to: end.coordinate)
            pieces.insert(piece.way)
            if piece.isTunnel { hidden.append(start.time...end.time) }
        }
        self.drive = drive
        self.pieces = pieces
        self.hidden = hidden
    }

    /// Returns the fixes of the drive.
    ///
    /// - Parameters:
    ///   - interval: The time between two fixes in seconds.
    ///   - noise: The standard deviation of the error to the north and to the east, in metres.
    func fixes(every interval: Double, noise: Double, using generator: inout SplitMix64) -> [Location] {
        var fixes: [Location] = []
        let times = stride(from: Self.margin, through: self.drive.duration - Self.margin, by: interval)
        for time in times where !self.hidden.contains(where: { $0.contains(time) }) {
            var fix = self.drive.fix(
                at: time, since: UnixTime(1_700_000_000), noise: noise, using: &generator)
            fix.seq = UInt64(fixes.count + 1)
            fix.stream = stream
            fixes.append(fix)
        }
        return fixes
    }

    private static func crossing(using generator: inout SplitMix64) -> Coordinate {
        let middle = (SyntheticRoads.streets - 1) / 2
        while true {
            let avenue = Int.random(in: 0..<SyntheticRoads.streets, using: &generator)
            let street = Int.random(in: 0..<SyntheticRoads.streets, using: &generator)
            // The roundabout has no crossing in its middle.
            if avenue != middle || street != middle { return Town.crossing(avenue, street) }
        }
    }
}

/// The stream of the fixes of all simulated drives.
let stream = StreamID("k3f9q2wz")!  // a valid name
