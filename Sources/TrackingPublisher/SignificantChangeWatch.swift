import TrackingCore

/// Decides when the receiver is needed, while only significant changes are recorded and a network source can watch for
/// them. It uses no source and no clock.
///
/// The receiver measures one position and then sleeps. When a position by the network is far enough away, the receiver
/// measures again. Positions by the network are not recorded, because they are coarse.
struct SignificantChangeWatch: Sendable {
    /// The resolution to request from the sources while a network source watches: any source meets the class of
    /// accuracy, so that the coarsest one runs.
    // Cannot fail: the interval is within the range.
    static let resolution = try! Resolution(
        accuracy: .minimum, desiredInterval: .seconds(60), minimumDisplacement: 0)
    /// The longest time for which the receiver searches for a fix after the network's position has changed. After it, a
    /// position of the network is recorded in place of the receiver's.
    static let search: Duration = .seconds(120)
    /// The largest radius of accuracy with which a position of the receiver ends the search. The first positions after
    /// waking are the least accurate ones.
    static let goodRadius: Meters = 100
    /// The time without the receiver after a search in vain, if the capture filter also drops the network's positions.
    static let rest: Duration = .seconds(300)

    private enum State: Hashable, Sendable {
        /// Every position counts, because more than significant changes matter. Next state: `measuring`.
        case off
        /// The receiver is on and searches for a fix. Next states: `watching` after a good fix; `replacing` at the time
        /// `limit`; `off`.
        case measuring(limit: MonotonicTime)
        /// The receiver found no good position in time. The next position of any source counts, unless the capture
        /// filter drops it. Next states: `watching`; `measuring` after a dropped position at the time `retry` or later;
        /// `off`.
        case replacing(retry: MonotonicTime)
        /// The receiver is not needed until a position by the network is far from `place`. Next states: `measuring`,
        /// `off`.
        case watching(place: Coordinate)
    }

    private var state = State.off
    /// The time at which the last watch ended; `nil` before.
    private(set) var ended: MonotonicTime?

    init() {}

    /// `true` while only significant changes matter.
    var isOn: Bool { self.state != .off }

    /// `true` while the receiver searches for a fix.
    var isMeasuring: Bool {
        if case .measuring = self.state { true } else { false }
    }

    /// `true` while positions by the network are enough.
    var isCoarse: Bool {
        switch self.state {
        case .watching, .replacing: true
        case .off, .measuring: false
        }
    }

    /// The time at which the caller must call ``advance(isOn:now:)`` next; `nil` for no such time.
    var deadline: MonotonicTime? {
        if case .measuring(let limit) = self.state { limit } else { nil }
    }

    /// Begins or ends the watch for significant changes. Ends the receiver's search for a fix after ``search``.
    ///
    /// - Parameter isOn: `true` while only significant changes of the position are recorded.
    /// - Returns: `true` if ``isCoarse`` may have changed.
    mutating func advance(isOn: Bool, now: MonotonicTime) -> Bool {
        let next: State
        switch self.state {
        case .off where isOn: next = .measuring(limit: now.advanced(by: Self.search))
        case .measuring(let limit) where isOn && now >= limit:
            next = .replacing(retry: now.advanced(by: Self.rest))
        case .measuring, .replacing, .watching: next = isOn ? self.state : .off
        case .off: next = .off
        }
        defer { self.state = next }
        if next == .off, self.isOn { self.ended = now }
        return next != self.state
    }

    /// Handles a position of a source.
    ///
    /// - Parameters:
    ///   - fix: The position.
    ///   - maximumRadius: The radius of accuracy above which the capture filter drops a position; `nil` for no limit.
    ///   - now: The time of the arrival.
    /// - Returns: `true` if the position counts. `false` to ignore it.
    mutating func received(_ fix: Location, maximumRadius: Meters? = nil, now: MonotonicTime) -> Bool {
        let isNetwork = fix.source == .network
        let radius = fix.accuracyHorizontal ?? 0
        let isDropped = maximumRadius.map { radius > $0.value } ?? false
        switch self.state {
        case .off: return true
        case .watching(let place) where isNetwork:
            if Self.isChange(fix, from: place) { self.state = .measuring(limit: now.advanced(by: Self.search)) }
            return false
        case .measuring where isNetwork: return false
        case .measuring where radius > Self.goodRadius.value: return false
        case .replacing(let retry) where isDropped:
            if now >= retry { self.state = .measuring(limit: now.advanced(by: Self.search)) }
            return false
        case .measuring where isDropped, .watching where isDropped: return false
        case .measuring, .replacing, .watching:
            self.state = .watching(place: fix.coordinate)
            return true
        }
    }

    /// Returns `true` if a position by the network shows that the trackable has left a place. Within its radius of
    /// accuracy, the trackable may still be there.
    private static func isChange(_ fix: Location, from place: Coordinate) -> Bool {
        let distance = fix.coordinate.distance(to: place)
        return distance >= CaptureFilter.significantDistance && distance.value > fix.accuracyHorizontal ?? 0
    }
}
