/// A setting that decides how exactly and how often a trackable publishes its position. Its members are the accuracy of
/// the fixes, the interval between two updates, and the distance between two updates.
public struct Resolution: Hashable, Sendable {
    /// The accuracy that is requested from the position receiver, in five classes from coarsest to finest.
    public enum Accuracy: String, Hashable, Sendable, CaseIterable, Comparable {
        case minimum = "MINIMUM"
        case low = "LOW"
        case balanced = "BALANCED"
        case high = "HIGH"
        case maximum = "MAXIMUM"

        /// The rank of the accuracy: from 0 for `minimum` to 4 for `maximum`.
        public var rank: Int {
            switch self {
            case .minimum: 0
            case .low: 1
            case .balanced: 2
            case .high: 3
            case .maximum: 4
            }
        }

        /// Returns `true` when the left accuracy is coarser than the right one.
        public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
    }

    /// The accuracy of positions that the publisher requests from the position receiver.
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

    /// Makes a resolution from values that are known to be in range, without checking them.
    init(unchecked accuracy: Accuracy, milliseconds: Int64, displacement: Meters) {
        self.accuracy = accuracy
        self.desiredInterval = .milliseconds(milliseconds)
        self.minimumDisplacement = displacement
    }

    /// The default resolution of a publisher: balanced accuracy, and a position every 30 s, whether the trackable moves
    /// or not.
    public static let standard = Resolution(unchecked: .balanced, milliseconds: 30_000, displacement: 0)

    /// The default floor, the finest resolution that a subscriber's request can reach: accuracy `maximum`, a position
    /// every 500 ms.
    public static let standardFloor = Resolution(unchecked: .maximum, milliseconds: 500, displacement: 0)

    /// The default ceiling, the coarsest resolution that a subscriber's request can reach: accuracy `minimum`, an
    /// interval of 10 minutes and a distance of 1,000 m.
    public static let standardCeiling = Resolution(unchecked: .minimum, milliseconds: 600_000, displacement: 1000)

    /// Returns the finest combination of two resolutions: the higher accuracy, the shorter interval and the shorter
    /// displacement of the two. The members may come from different resolutions. For a request and a ceiling, the
    /// result is the request limited by the ceiling.
    public func finer(of other: Resolution) -> Resolution {
        Resolution(
            unchecked: max(self.accuracy, other.accuracy),
            milliseconds: min(self.desiredInterval, other.desiredInterval).inMilliseconds,
            displacement: min(self.minimumDisplacement, other.minimumDisplacement))
    }

    /// Returns the coarsest combination of two resolutions: the lower accuracy, the longer interval and the longer
    /// displacement of the two. For a request and a floor, the result is the request limited by the floor.
    public func coarser(of other: Resolution) -> Resolution {
        Resolution(
            unchecked: min(self.accuracy, other.accuracy),
            milliseconds: max(self.desiredInterval, other.desiredInterval).inMilliseconds,
            displacement: max(self.minimumDisplacement, other.minimumDisplacement))
    }
}
