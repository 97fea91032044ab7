import BenchmarkSupport
import TrackingCore
import TrackingTesting

/// One trackable with its estimates, in simulated time.
struct EstimatedTrackable {
    /// An estimate that a subscriber has at one moment of a drive.
    struct Sample {
        /// The travelled part of the drive's time, 0…1.
        var share: Double
        /// The error of the estimated arrival in seconds, without sign.
        var error: Double
        /// `true` if the true arrival is between `earliest` and `latest`.
        var isInBand: Bool
    }

    /// The parts of a drive after which the estimate is examined.
    static let shares = [0.25, 0.5, 0.75]

    /// The routing engine; `nil` for an engine that is away.
    private let engine: SyntheticRoads?
    private var keeper = EstimateKeeper()
    private var published: Estimate?

    init(engine: SyntheticRoads?) { self.engine = engine }

    /// Travels to a stop with these fixes. Returns the estimates at ``shares`` of the drive.
    ///
    /// - Parameters:
    ///   - id: The id of the stop, which is new for each drive.
    ///   - drive: The drive, whose end is the stop.
    ///   - fixes: The fixes of the drive, one a second, in the order of their times.
    mutating func travel(to id: String, _ drive: Drive, _ fixes: [Location]) async throws -> [Sample] {
        let start = fixes[0].time
        let journey = Journey(stops: [Journey.Stop(id: id, location: drive.end)])
        try await self.perform(self.keeper.journeyChanged(journey, at: Self.moment(start)), at: Self.moment(start))
        var estimates: [(share: Double, stop: Estimate.Stop)] = []
        for fix in fixes {
            let moment = Self.moment(fix.time)
            try await self.perform(self.keeper.moved(fix, at: moment), at: moment)
            guard let stop = self.published?.stops.first else { continue }
            if stop.status == .arrived, let arrival = stop.eta {
                return estimates.map { Self.sample($0.share, $0.stop, arrival: arrival) }
            }
            let share = (fix.time.seconds - start.seconds) / drive.duration
            if let next = Self.shares.dropFirst(estimates.count).first, share >= next { estimates.append((next, stop)) }
        }
        throw BenchmarkError("a trackable did not arrive at the stop \(id)")
    }

    private static func moment(_ time: UnixTime) -> Moment {
        Moment(now: MonotonicTime(.seconds(time.seconds)), wall: time)
    }

    /// Returns the sample for an estimate. An estimate without a time of arrival has an infinite error.
    private static func sample(_ share: Double, _ stop: Estimate.Stop, arrival: UnixTime) -> Sample {
        guard let eta = stop.eta, let earliest = stop.earliest, let latest = stop.latest else {
            return Sample(share: share, error: .infinity, isInBand: false)
        }
        return Sample(
            share: share, error: abs(eta.seconds - arrival.seconds), isInBand: (earliest...latest).contains(arrival))
    }

    private mutating func perform(_ actions: [EstimateKeeper.Action], at moment: Moment) async throws {
        for action in actions {
            switch action {
            case .requestRoute(let request, let number):
                if let engine = self.engine {
                    let route = try await engine.route(request)
                    try await self.perform(self.keeper.routeAnswered(route, to: number, at: moment), at: moment)
                } else {
                    try await self.perform(self.keeper.routeFailed(number, at: moment), at: moment)
                }
            case .publish(let estimate): self.published = estimate
            case .clear: self.published = nil
            case .report: break
            }
        }
    }
}
