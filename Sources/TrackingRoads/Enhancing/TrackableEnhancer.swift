import TrackingCore

/// Decides which updates with positions that are matched to roads are published for one trackable, and when the
/// routing engine is asked. Uses no network, and no clock of its own.
///
/// Each fix that is newer than all earlier ones is published exactly once, in the order of arrival. A fix waits for the
/// engine's answer until its deadline. After the deadline the fix is published as the device sent it. A later answer
/// still improves the matches of the following fixes.
struct TrackableEnhancer: Sendable {
    /// A fix that is not published yet.
    private struct Pending {
        let number: Int
        let location: Location
        let deadline: MonotonicTime
    }

    /// The maximum number of fixes that wait for the engine. Before a further fix, the oldest one is published as the
    /// device sent it.
    static let maximumPending = 100

    private(set) var window = MatchWindow()
    private var order = UpdateOrder()
    private var pending: [Pending] = []
    /// The number of the fix that was published last; `nil` before the first one.
    private var publishedNumber: Int?
    /// The last published update, without the way to it; `nil` before the first one.
    private(set) var lastPublished: LocationUpdate?
    private var travel = ReportedTravel()
    /// The last update of the enhancer that served the trackable before; `nil` when there was none.
    private var resumed: LocationUpdate?
    /// `true` if the window has fixes without an answer of the engine, and no request is under way for them.
    private(set) var needsMatch = false

    /// The time at which ``expire(now:)`` publishes the oldest waiting fix; `nil` while no fix waits.
    var deadline: MonotonicTime? { self.pending.first?.deadline }

    /// The approximate size of this state in memory, in bytes.
    var bytes: Int {
        2_048 + (self.window.anchors.count + self.window.points.count + self.pending.count) * 400
    }

    /// The means of travel, by the motion that the device reports.
    var profile: TravelProfile { self.travel.profile }

    /// The fixes that the engine is to match. Calling it means that a request is under way.
    mutating func takeRequest() -> MatchWindow.Request? {
        self.needsMatch = false
        return self.window.request
    }

    // MARK: - Fixes

    /// Handles the last update that another enhancer published for the trackable. No fix that is older than this update
    /// is published afterwards.
    mutating func resume(after update: LocationUpdate) {
        guard self.order.consider(update) == .current else { return }
        var last = update
        last.intermediate = []
        (self.lastPublished, self.resumed) = (last, last)
    }

    /// The highest number of the fix's stream whose match is final. It includes the matches of the enhancer that served
    /// the trackable before.
    private func finalSeq(of fix: Location) -> UInt64? {
        guard let resumed = self.resumed, resumed.location.stream == fix.stream else { return self.window.finalSeq }
        return self.window.finalSeq ?? resumed.enhancement?.finalSeq
    }

    /// Handles a location update of the trackable.
    ///
    /// - Parameters:
    ///   - update: The update, as the device sent it.
    ///   - deadline: The time until which the new fix waits for the engine.
    /// - Returns: The updates to publish at once.
    mutating func received(_ update: LocationUpdate, deadline: MonotonicTime) -> [LocationUpdate] {
        let verdict = self.order.consider(update)
        let skipped = self.order.newSkipped(update)
        guard verdict == .current else { return [] }
        let fix = update.location
        self.travel.moved(fix)
        for point in skipped.sorted(by: { $0.time < $1.time })
        where point.time < fix.time && point.stream == fix.stream && self.isNewer(point) {
            _ = self.window.add(point)
        }
        let number = self.window.add(fix).number
        // A standing trackable has the match of its previous fix, so the engine is not asked again.
        if self.pending.isEmpty, let match = self.window[number]?.match {
            return [self.publish(fix, number, match, way: [])]
        }
        self.needsMatch = true
        self.pending.append(Pending(number: number, location: fix.withoutExtra, deadline: deadline))
        return self.pending.count > Self.maximumPending ? [self.publishUnmatched()] : []
    }

    private func isNewer(_ point: Location) -> Bool { self.window.head.map { $0.time < point.time } ?? true }

    // MARK: - Answers

    /// Handles the engine's answer to a request.
    ///
    /// - Returns: The updates to publish.
    mutating func answered(_ match: RoadMatch, to request: MatchWindow.Request) -> [LocationUpdate] {
        _ = self.window.answered(match, to: request.numbers)
        var updates: [LocationUpdate] = []
        while let next = self.pending.first, let last = request.numbers.last, next.number <= last {
            self.pending.removeFirst()
            let way = self.way(to: next.number, match, request)
            updates.append(self.publish(next.location, next.number, self.window[next.number]?.match, way: way))
        }
        return updates
    }

    /// Handles that the engine knows no road for the fixes of a request.
    ///
    /// - Returns: The updates to publish.
    mutating func foundNoRoad(_ request: MatchWindow.Request) -> [LocationUpdate] {
        _ = self.window.foundNoRoad(request.numbers)
        var updates: [LocationUpdate] = []
        while let next = self.pending.first, let last = request.numbers.last, next.number <= last {
            updates.append(self.publishUnmatched())
        }
        return updates
    }

    /// Returns updates with all fixes whose deadline has passed, as the device sent them.
    mutating func expire(now: MonotonicTime) -> [LocationUpdate] {
        var updates: [LocationUpdate] = []
        while let deadline = self.deadline, deadline <= now { updates.append(self.publishUnmatched()) }
        return updates
    }

    /// Returns updates with all waiting fixes, as the device sent them.
    mutating func publishAll() -> [LocationUpdate] { (0..<self.pending.count).map { _ in self.publishUnmatched() } }

    // MARK: - Updates

    private mutating func publishUnmatched() -> LocationUpdate {
        let next = self.pending.removeFirst()
        return self.publish(next.location, next.number, nil, way: [])
    }

    private mutating func publish(
        _ fix: Location, _ number: Int, _ match: MatchWindow.Match?, way: [Location]
    ) -> LocationUpdate {
        var enhancement = Enhancement(confidence: match?.confidence ?? .offRoad, finalSeq: self.finalSeq(of: fix))
        var location = fix.withoutExtra
        if let match, match.confidence != .offRoad {
            location.coordinate = match.coordinate
            enhancement.road = match.edge?.road
            enhancement.way = match.edge?.way
            enhancement.roadClass = match.edge?.roadClass
            enhancement.speedLimit = match.edge?.speedLimit
            enhancement.offset = fix.coordinate.distance(to: match.coordinate)
        }
        var update = LocationUpdate(location: location, enhancement: enhancement)
        self.publishedNumber = number
        self.lastPublished = update
        update.intermediate = way
        return update
    }

    /// Returns the way along the road from the position that was published last to this fix.
    private func way(to number: Int, _ match: RoadMatch, _ request: MatchWindow.Request) -> [Location] {
        guard let published = self.publishedNumber, let start = request.numbers.firstIndex(of: published),
            let end = request.numbers.firstIndex(of: number), start < end
        else { return [] }
        return TravelledWay.between(match, of: request.points, from: start, to: end)
    }
}

extension Location {
    /// This fix without its extra members, which are only on the topic of the device's own updates.
    fileprivate var withoutExtra: Location {
        var location = self
        location.extra = nil
        return location
    }
}
