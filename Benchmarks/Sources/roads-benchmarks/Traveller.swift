import TrackingCore
import TrackingTesting

/// A vehicle that drives from crossing to crossing of the region, along the fastest routes. Its speed differs by up to
/// 30 % from the engine's speed: from drive to drive, and in addition from street to street.
struct Traveller {
    private let region: Region
    private var generator: SplitMix64
    private var place: Coordinate

    /// Makes a vehicle at a crossing.
    init(_ region: Region, seed: UInt64) {
        self.region = region
        self.generator = SplitMix64(seed: seed)
        self.place = Self.crossing(using: &self.generator)
    }

    /// Drives to another crossing.
    ///
    /// - Parameter length: The least length of the drive, as a straight line.
    mutating func drive(atLeast length: Meters) async throws -> Drive {
        var end = self.place
        while self.place.distance(to: end) < length { end = Self.crossing(using: &self.generator) }
        let route = try await self.region.engine.route(
            RouteRequest(start: self.place, stops: [end], profile: .auto))
        self.place = end
        let pace = self.generator.variation()
        return try Drive(along: route.legs[0].shape) { start, end in
            // The synthetic engine expects nine tenths of the speed limit.
            try self.region.speedLimit(from: start, to: end) * 0.9 * pace * self.generator.variation()
        }
    }

    /// Returns the fixes of a drive, one a second or at another interval in seconds.
    mutating func fixes(
        of drive: Drive, since start: UnixTime, noise: Double, every interval: Double = 1
    ) -> [Location] {
        stride(from: 0, through: drive.duration + 30, by: interval).map {
            drive.fix(at: $0, since: start, noise: noise, using: &self.generator)
        }
    }

    private static func crossing(using generator: inout SplitMix64) -> Coordinate {
        let streets = 0..<Region.streets
        return Region.crossing(
            east: Int.random(in: streets, using: &generator), north: Int.random(in: streets, using: &generator))
    }
}
