/// The band around an estimated arrival in which the true arrival probably is.
///
/// The band follows from the errors of past estimates at about the same distance, as shares of the remaining time. It
/// begins at 15 % to both sides, and adapts so that about four of five arrivals are within it.
struct EstimateBand: Sendable {
    /// The upper limits of the classes of distances, in metres. The last class has no limit.
    private static let limits = [1_000.0, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000]
    /// The part of the arrivals that is outside the band on each side.
    private static let outside = 0.1
    /// The share by which one error moves a side of the band.
    private static let step = 0.05
    private static let shares = 0.03...1.0
    /// The least distance from the estimate to a side of the band, in seconds.
    private static let least = 20.0

    /// The two sides of the band at one class of distances, as shares of the remaining time.
    private struct Sides: Hashable {
        var early = 0.15
        var late = 0.15
    }

    /// An estimate whose error is known after the arrival.
    private struct Prediction: Hashable {
        var eta: UnixTime
        /// The remaining time when the estimate was made, in seconds.
        var remaining: Double
    }

    private var sides = [Sides](repeating: Sides(), count: Self.limits.count + 1)
    /// The first estimate at each class of distances, by stop and class.
    private var predictions: [String: [Int: Prediction]] = [:]

    /// Returns the greatest probable times by which an arrival is earlier and later than estimated, in seconds.
    ///
    /// - Parameters:
    ///   - distance: The remaining distance, in metres.
    ///   - remaining: The remaining time, in seconds.
    func band(distance: Double, remaining: Double) -> (early: Double, late: Double) {
        let sides = self.sides[Self.index(of: distance)]
        return (max(Self.least, sides.early * remaining), max(Self.least, sides.late * remaining))
    }

    /// Records an estimate for a stop. At each class of distances, the first one is used.
    mutating func estimated(_ id: String, distance: Double, eta: UnixTime, remaining: Double) {
        guard remaining >= Self.least else { return }
        let index = Self.index(of: distance)
        guard self.predictions[id]?[index] == nil else { return }
        self.predictions[id, default: [:]][index] = Prediction(eta: eta, remaining: remaining)
    }

    /// Adapts the band to the errors of the estimates for a stop at which the trackable has arrived.
    mutating func arrived(at id: String, time: UnixTime) {
        for (index, prediction) in self.predictions.removeValue(forKey: id) ?? [:] {
            let error = (time.seconds - prediction.eta.seconds) / prediction.remaining
            self.sides[index].late = Self.adapted(self.sides[index].late, to: error)
            self.sides[index].early = Self.adapted(self.sides[index].early, to: -error)
        }
    }

    /// Forgets the estimates for all stops but those given.
    mutating func keep(_ ids: Set<String>) { self.predictions = self.predictions.filter { ids.contains($0.key) } }

    private static func adapted(_ side: Double, to error: Double) -> Double {
        let next = side + Self.step * (error > side ? 1 - Self.outside : -Self.outside)
        return min(Self.shares.upperBound, max(Self.shares.lowerBound, next))
    }

    private static func index(of distance: Double) -> Int {
        self.limits.firstIndex { distance < $0 } ?? self.limits.count
    }
}
