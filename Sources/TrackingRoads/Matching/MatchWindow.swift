package import TrackingCore

/// The newest fixes of one trackable, which a routing engine matches together, and their matches.
///
/// A match can change with each answer of the engine, because later fixes show which of two roads the trackable took.
/// Once a match is final, it never changes, and the window forgets its fix. The last final fixes remain as anchors, with
/// which the next request begins.
///
/// The caller adds the fixes in the order of their times, sends ``request`` to the engine, and passes the engine's
/// answer to ``answered(_:to:)``.
package struct MatchWindow: Hashable, Sendable {
    /// The match of one fix.
    package struct Match: Hashable, Sendable {
        /// The position on the road; off the road, the position of the fix.
        package var coordinate: Coordinate
        /// The certainty of the match: on a road, presumed on a road, or on no road.
        package var confidence: Enhancement.Confidence
        /// The road; `nil` off the road.
        package var edge: RoadMatch.Edge?
        /// The distance from the fix to the position on the road; `nil` off the road.
        package var offset: Meters?

        /// `true` if another match has the same road and the same position on it, within a metre.
        func isSame(as other: Match) -> Bool {
            self.edge?.id == other.edge?.id && self.coordinate.distance(to: other.coordinate) <= 1
        }
    }

    /// One fix of the window.
    package struct Point: Hashable, Sendable {
        /// The number of the fix. Consecutive fixes of a trackable have consecutive numbers.
        package let number: Int
        /// The position of the fix; for fixes of a standing trackable, that of the first one.
        package let coordinate: Coordinate
        /// The time of the fix; for fixes of a standing trackable, that of the last one.
        package fileprivate(set) var time: UnixTime
        /// The record number of the fix in its stream; `nil` for a fix without a number.
        package fileprivate(set) var seq: UInt64?
        let accuracy: Meters?
        /// The match by the engine's last answer; `nil` before the first answer.
        package fileprivate(set) var match: Match?
        /// `true` if the last two answers of the engine agree about the match.
        var isStable = false
    }

    /// The fixes to match, with their numbers.
    package struct Request: Hashable, Sendable {
        /// The numbers of the fixes, in ascending order.
        package var numbers: [Int]
        /// The fixes, in the same order.
        package var points: [MatchRequest.Point]
    }

    /// The maximum number of fixes in a window.
    package static let maximumPoints = 100
    /// The maximum time from the oldest fix of a window to the newest one.
    package static let maximumTime = Duration.seconds(600)
    /// The maximum time between two consecutive fixes of a window. After a longer gap a new window begins.
    package static let maximumGap = Duration.seconds(60)
    /// The maximum speed between two consecutive fixes, in metres per second. After a higher one a new window begins.
    package static let maximumSpeed = 100.0
    /// The distance from a fix to the newest one from which on its match can become final.
    package static let finalDistance: Meters = 100
    /// The time from a fix to the newest one from which on its match can become final.
    package static let finalTime = Duration.seconds(10)

    /// The maximum number of anchors. A single one does not show the engine the direction of the trackable, nor which of
    /// two roads that meet there it is on.
    package static let maximumAnchors = 6

    /// The fixes whose matches are not final, in the order of their times.
    package private(set) var points: [Point] = []
    /// The last final fixes, with which the next request begins, in the order of their times. Empty for a window that
    /// begins anew.
    package private(set) var anchors: [Point] = []
    /// The highest number (`seq`) of the stream whose match is final; `nil` while there is none.
    package private(set) var finalSeq: UInt64?
    private var stream: StreamID?
    private var count = 0

    /// Creates a window without fixes.
    package init() {}

    /// The newest fix; `nil` in an empty window.
    package var head: Point? { self.points.last }

    /// The point with this number; `nil` for a fix that the window has forgotten.
    package subscript(number: Int) -> Point? {
        self.index(of: number).map { self.points[$0] } ?? self.anchors.last { $0.number == number }
    }

    /// The fixes that the engine is to match; `nil` in an empty window.
    package var request: Request? {
        guard !self.points.isEmpty else { return nil }
        return Request(
            numbers: self.anchors.map(\.number) + self.points.map(\.number),
            points: self.anchors.map(\.requestedOnRoad) + self.points.map(\.requested))
    }

    // MARK: - Fixes

    /// Adds a fix that is newer than all fixes of the window.
    ///
    /// - Returns: The number of the fix, and the points whose matches are final now, which the window forgets. The fix
    ///   of a standing trackable has the number of the previous one.
    package mutating func add(_ fix: Location) -> (number: Int, final: [Point]) {
        var final: [Point] = []
        if let head = self.head {
            if fix.stream == self.stream, head.isStanding(with: fix) {
                self.points[self.points.count - 1].time = max(head.time, fix.time)
                self.points[self.points.count - 1].seq = fix.seq
                return (head.number, self.trim())
            }
            if fix.stream != self.stream || head.isSeparate(from: fix) { final = self.begin(with: fix.stream) }
        }
        self.stream = fix.stream
        self.count += 1
        self.points.append(
            Point(
                number: self.count, coordinate: fix.coordinate, time: fix.time, seq: fix.seq,
                accuracy: fix.accuracyHorizontal.map { Meters($0) }))
        return (self.count, final + self.trim())
    }

    /// Begins a new window for the next fix, which the engine cannot match together with the present ones.
    private mutating func begin(with stream: StreamID?) -> [Point] {
        let final = self.finish(self.points.count)
        self.anchors = []
        if stream != self.stream { self.finalSeq = nil }
        return final
    }

    /// Makes the oldest matches final while the window has too many points, or its points are too old.
    private mutating func trim() -> [Point] {
        guard let head = self.head else { return [] }
        let old = self.points.prefix { head.time.since($0.time) > Self.maximumTime }.count
        return self.finish(max(old, self.points.count - Self.maximumPoints))
    }

    // MARK: - Answers

    /// Handles the engine's answer to a request.
    ///
    /// - Parameters:
    ///   - match: The answer, with a point for each fix of the request.
    ///   - numbers: The numbers of the request's fixes.
    /// - Returns: The points whose matches are final now, which the window forgets.
    package mutating func answered(_ match: RoadMatch, to numbers: [Int]) -> [Point] {
        for (number, point) in zip(numbers, match.points) {
            self.note(
                Match(
                    coordinate: point.coordinate, confidence: point.confidence,
                    edge: point.edge.map { match.edges[$0] }, offset: point.offset), of: number)
        }
        return self.finishLeft(numbers) + self.finish(self.settled)
    }

    /// Handles that the engine knows no road for the fixes of a request.
    ///
    /// - Returns: The points whose matches are final now, which the window forgets.
    package mutating func foundNoRoad(_ numbers: [Int]) -> [Point] {
        guard let last = numbers.last, let index = self.index(of: last) else { return [] }
        for position in 0...index where self.points[position].match == nil || position == index {
            self.points[position].match = Match(coordinate: self.points[position].coordinate, confidence: .offRoad)
        }
        let final = self.finish(index)
        self.anchors = []
        return final
    }

    private mutating func note(_ match: Match, of number: Int) {
        guard let index = self.index(of: number) else { return }
        self.points[index].isStable = self.points[index].match.map { match.isSame(as: $0) } ?? false
        self.points[index].match = match
    }

    /// Begins a new window with the last fix of a request if the trackable has left the road: the last two fixes have
    /// no road.
    private mutating func finishLeft(_ numbers: [Int]) -> [Point] {
        guard let last = numbers.last, let index = self.index(of: last), index > 0,
            self.points[(index - 1)...index].allSatisfy({ $0.match?.confidence == .offRoad })
        else { return [] }
        let final = self.finish(index)
        self.anchors = []
        return final
    }

    /// The number of the oldest points whose matches became final, because later fixes can hardly change them.
    private var settled: Int {
        guard let head = self.head else { return 0 }
        return self.points.dropLast().prefix { point in
            point.isStable && head.time.since(point.time) >= Self.finalTime
                && head.coordinate.distance(to: point.coordinate) >= Self.finalDistance
        }.count
    }

    /// Makes the matches of the oldest points final and forgets these points, except the last ones, which become the
    /// anchors.
    private mutating func finish(_ count: Int) -> [Point] {
        guard count > 0 else { return [] }
        let final = Array(self.points.prefix(count))
        self.points.removeFirst(count)
        self.anchors = Array((self.anchors + final).suffix(Self.maximumAnchors))
        self.finalSeq = final.lazy.compactMap(\.seq).last ?? self.finalSeq
        return final
    }

    private func index(of number: Int) -> Int? {
        guard let first = self.points.first?.number, (first..<first + self.points.count).contains(number) else {
            return nil
        }
        return number - first
    }
}

extension MatchWindow.Point {
    fileprivate var requested: MatchRequest.Point {
        MatchRequest.Point(coordinate: self.coordinate, time: self.time, accuracy: self.accuracy)
    }

    /// The final position, which leads the engine to the final road. Off the road it is that of the fix.
    fileprivate var requestedOnRoad: MatchRequest.Point {
        MatchRequest.Point(
            coordinate: self.match?.coordinate ?? self.coordinate, time: self.time, accuracy: self.accuracy)
    }

    /// Returns `true` if the trackable has not moved from this point to a later fix: it is slower than 1 m/s, and the
    /// distance is within the accuracy of the fix, but at most 20 m.
    fileprivate func isStanding(with fix: Location) -> Bool {
        let radius = min(max(fix.accuracyHorizontal ?? 0, 5), 20)
        return (fix.speed ?? 0) < 1 && self.coordinate.distance(to: fix.coordinate).value <= radius
    }

    /// Returns `true` if a later fix cannot continue this point: after a gap, or at an impossible speed.
    fileprivate func isSeparate(from fix: Location) -> Bool {
        let time = fix.time.since(self.time)
        guard time >= .zero, time <= MatchWindow.maximumGap else { return true }
        let reach = MatchWindow.maximumSpeed * max(1, time.inSeconds) + 2 * (fix.accuracyHorizontal ?? 0)
        return self.coordinate.distance(to: fix.coordinate).value > reach
    }
}
