import TrackingCore
import TrackingRoads

/// The matches of a drive while it lasts: a request for each fix, as an enhancer sends them.
struct OnlineMatch {
    /// The roads on the way that was published with each fix.
    private(set) var live: Set<UInt64> = []
    /// The roads on the way between the final positions.
    private(set) var final: Set<UInt64> = []
    /// The number of final positions.
    private(set) var finalCount = 0
    /// The number of final positions that changed afterwards.
    private(set) var changes = 0
    /// The requests to the engine.
    private(set) var requests: [MatchRequest] = []
    private var window = MatchWindow()
    private var finals: [Int: MatchWindow.Match?] = [:]
    private var published: Int?
    private var lastFinal: Int?
    private var last: (match: RoadMatch, numbers: [Int])?

    /// Matches the fixes of a drive.
    init(_ fixes: [Location], with engine: ValhallaEngine) async throws {
        for fix in fixes { try await self.received(fix, engine) }
        // The drive is over, so the last answer remains.
        if let number = self.window.points.last?.number { self.noteWay(to: number, isFinal: true) }
    }

    private mutating func received(_ fix: Location, _ engine: ValhallaEngine) async throws {
        let (number, final) = self.window.add(fix)
        self.finished(final)
        guard let request = self.window.request else { return }
        let points = MatchRequest(points: request.points, profile: .auto)
        self.requests.append(points)
        do throws(TrackingError) {
            let match = try await engine.match(points)
            self.last = (match, request.numbers)
            let final = self.window.answered(match, to: request.numbers)
            self.noteWay(to: number, isFinal: false)
            self.finished(final)
        } catch {
            guard error.code == .noRoad else { throw error }
            self.finished(self.window.foundNoRoad(request.numbers))
        }
        self.published = number
        for (number, match) in self.finals where self.window[number].map({ $0.match != match }) ?? false {
            self.changes += 1
        }
    }

    private mutating func finished(_ points: [MatchWindow.Point]) {
        for point in points {
            // A second final match of one fix would be a change as well.
            if let before = self.finals[point.number], before != point.match { self.changes += 1 }
            self.finals[point.number] = point.match
        }
        self.finalCount += points.count
        guard let last = points.last else { return }
        self.noteWay(to: last.number, isFinal: true)
        self.lastFinal = last.number
    }

    /// Notes the roads of the last answer up to a fix: from the last final fix for the final way, and from the fix that
    /// was published before otherwise.
    private mutating func noteWay(to number: Int, isFinal: Bool) {
        guard let (match, numbers) = self.last, let end = numbers.firstIndex(of: number) else { return }
        let before = (isFinal ? self.lastFinal : self.published).flatMap { numbers.firstIndex(of: $0) }
        let start = before ?? (isFinal ? 0 : end)
        let edges = match.points[min(start, end)...end].compactMap(\.edge)
        guard let first = edges.first, let last = edges.last, first <= last else { return }
        let ways = match.edges[first...last].compactMap(\.way)
        if isFinal { self.final.formUnion(ways) } else { self.live.formUnion(ways) }
    }
}
