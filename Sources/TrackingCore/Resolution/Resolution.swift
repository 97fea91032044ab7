/// A rate and accuracy of positions: the accuracy of sampling, the interval between updates and the distance between
/// them.
public struct Resolution: Hashable, Sendable {
    /// The accuracy of the receiver's samples, from cheapest to finest.
    public enum Accuracy: String, Hashable, Sendable, CaseIterable, Comparable {
        case minimum = "MINIMUM"
        case low = "LOW"
        case balanced = "BALANCED"
        case high = "HIGH"
        case maximum = "MAXIMUM"

        /// The rank of the accuracy: 0 for `minimum` … 4 for `maximum`.
        public var rank: Int {
            switch self {
            case .minimum: 0
            case .low: 1
            case .balanced: 2
            case .high: 3
            case .maximum: 4
            }
        }

        /// Orders from `minimum` to `maximum`.
        public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
    }

    /// The accuracy of positions that is requested from the receiver.
    public let accuracy: Accuracy
    /// The time between two updates while the trackable moves, in whole milliseconds, 0…``maximumInterval``.
    public let desiredInterval: Duration
    /// The minimum distance between two updates, ≥ 0 m.
    public let minimumDisplacement: Meters

    /// The longest permitted interval: 365 days.
    public static let maximumInterval: Duration = .seconds(365 * 86_400)

    /// Makes a resolution. The interval is truncated to whole milliseconds.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when the interval or the displacement is negative or not
    ///   finite, or the interval exceeds ``maximumInterval``.
    public init(
        accuracy: Accuracy, desiredInterval: Duration, minimumDisplacement: Meters
    ) throws(TrackingError) {
        guard desiredInterval >= .zero, desiredInterval <= Self.maximumInterval else {
            throw TrackingError(
                .invalidConfiguration, "desiredInterval must be 0 ms to 365 days, not \(desiredInterval)")
        }
        guard minimumDisplacement.value >= 0, minimumDisplacement.value.isFinite else {
            throw TrackingError(
                .invalidConfiguration, "minimumDisplacement must be 0 m or more, not \(minimumDisplacement.value)")
        }
        self.init(
            unchecked: accuracy, milliseconds: desiredInterval.inMilliseconds, displacement: minimumDisplacement)
    }

    /// Makes a resolution of values that are known to be in range: constants and results of arithmetic on checked
    /// resolutions.
    init(unchecked accuracy: Accuracy, milliseconds: Int64, displacement: Meters) {
        self.accuracy = accuracy
        self.desiredInterval = .milliseconds(milliseconds)
        self.minimumDisplacement = displacement
    }

    /// The default resolution of a publisher: a position every 30 s, whether the trackable moves or not.
    public static let standard = Resolution(unchecked: .balanced, milliseconds: 30_000, displacement: 0)

    /// The default floor, the finest resolution that a request can reach: a position every 500 ms.
    public static let standardFloor = Resolution(unchecked: .maximum, milliseconds: 500, displacement: 0)

    /// The default ceiling, the coarsest resolution that a request can reach: a position every 10 minutes and every
    /// 1,000 m.
    public static let standardCeiling = Resolution(unchecked: .minimum, milliseconds: 600_000, displacement: 1000)

    /// Returns the finer of two resolutions, member by member: the higher accuracy, the shorter interval, the shorter
    /// displacement. The result may combine members of both. A ceiling limits a request this way.
    public func finer(of other: Resolution) -> Resolution {
        Resolution(
            unchecked: max(self.accuracy, other.accuracy),
            milliseconds: min(self.desiredInterval, other.desiredInterval).inMilliseconds,
            displacement: min(self.minimumDisplacement, other.minimumDisplacement))
    }

    /// Returns the coarser of two resolutions, member by member. A floor limits a request this way.
    public func coarser(of other: Resolution) -> Resolution {
        Resolution(
            unchecked: min(self.accuracy, other.accuracy),
            milliseconds: max(self.desiredInterval, other.desiredInterval).inMilliseconds,
            displacement: max(self.minimumDisplacement, other.minimumDisplacement))
    }
}
