public import TrackingCore

/// Thins a history to at most N points, in one pass and in memory for N, and says how far off the rest may be at most.
///
/// The first and the last point are kept. Of the others the one is dropped whose absence shows least: whose *synchronized
/// distance* is least, that is the distance between where it was and where the track without it is at its time, going evenly
/// along the great circle between the points before and after it. This is SQUISH-E (J. Muckell, P. W. Olsen, J.-H. Hwang,
/// C. T. Lawson, S. S. Ravi: "Compression of trajectory data: a comprehensive evaluation and new approach", GeoInformatica 18,
/// 2014) with a fixed number of points: what was dropped adds its own priority to that of its neighbours, so that a priority
/// is never below the greatest distance that dropping the point can lead to.
///
/// ``bound`` is the greatest priority of a dropped point. No dropped point was further than that from where the kept ones say
/// that it was at its time. On a sphere this holds while two neighbouring stretches together are no longer than half of its
/// circumference (on a shorter one, two great circles from one point move apart all the way); for a longer one the distance
/// counts as half of the circumference, which no distance exceeds. Heights play no part.
///
/// Where two kept points have the same time, the track is at both of them then.
///
/// Where the track is interrupted (``interrupt()``), the points on both sides stay, and nothing is measured across. Where there is no
/// room for them all, the shortest interruptions are drawn over.
public struct HistorySimplifier: Sendable {
    /// The most points that are kept.
    public let maximumPoints: Int
    /// How many points were given.
    public private(set) var count = 0
    /// No dropped point was further than this from where the kept ones say that it was at its time; 0 while none was dropped.
    public private(set) var bound: Meters = 0

    /// A point and its neighbours, by their slots; -1 where there is none.
    private struct Node: Sendable {
        var point: Location
        var previous: Int
        var next: Int
        /// The greatest priority of what was dropped beside it.
        var inherited = 0.0
        /// Whether the track does not go on to it from the one before.
        var beginsPiece: Bool
        /// How many points came before it.
        let number: Int
    }

    private var nodes: [Node] = []
    private var heap: IndexedHeap
    /// The points that begin a piece, by the time since the one before.
    private var interruptions: IndexedHeap
    private var isInterrupted = false
    private var last = -1
    private var free = -1

    /// Half of the circumference: no two places are further apart.
    private static let farthest = Coordinate.meanEarthRadius.value * .pi

    /// The most points that may be asked for: what a program has memory for.
    public static let maximumLimit = 1_000_000

    /// Makes a simplifier that keeps at most `maximumPoints`.
    ///
    /// - Throws: `invalidConfiguration` when that is not 2 to 1,000,000.
    public init(maximumPoints: Int) throws(TrackingError) {
        guard (2...Self.maximumLimit).contains(maximumPoints) else {
            throw TrackingError(
                .invalidConfiguration,
                "the most points of a simplified history must be 2 to \(Self.maximumLimit), not \(maximumPoints)")
        }
        self.maximumPoints = maximumPoints
        self.heap = IndexedHeap(capacity: maximumPoints + 1)
        self.interruptions = self.heap
    }

    /// Says that points are missing between the last one and the next.
    public mutating func interrupt() { self.isInterrupted = self.last >= 0 }

    /// Takes in the next point. Give them in the order of their times.
    public mutating func append(_ point: Location) {
        let slot = self.place(
            Node(
                point: point, previous: self.last, next: -1, beginsPiece: self.isInterrupted, number: self.count))
        if self.last >= 0 {
            self.nodes[self.last].next = slot
            self.rank(self.last)
            let pause = point.time.seconds - self.nodes[self.last].point.time.seconds
            if self.isInterrupted { self.interruptions.set(slot, to: .init(priority: pause, number: self.count)) }
        }
        self.isInterrupted = false
        self.last = slot
        self.count += 1
        if self.count > self.maximumPoints { self.dropLeast() }
    }

    /// How many points memory is held for; for tests of the bound.
    var heldPoints: Int { self.nodes.count }

    /// The points that are kept, in order.
    public var points: [Location] { self.pieces.flatMap(\.self) }

    /// The points that are kept, in order: a list for each uninterrupted piece.
    public var pieces: [[Location]] {
        var pieces: [[Location]] = []
        var slot = self.nodes.isEmpty ? -1 : 0  // the first point is never dropped, and stays where it was put
        while slot >= 0 {
            let node = self.nodes[slot]
            if pieces.isEmpty || node.beginsPiece { pieces.append([]) }
            pieces[pieces.count - 1].append(node.point)
            slot = node.next
        }
        return pieces
    }

    private mutating func place(_ node: Node) -> Int {
        guard self.free >= 0 else {
            self.nodes.append(node)
            return self.nodes.count - 1
        }
        defer { self.free = -1 }
        self.nodes[self.free] = node
        return self.free
    }

    /// Drops the point that shows least. There is one: more than two points are held, and all but the outermost are ranked once
    /// no interruption is left.
    private mutating func dropLeast() {
        guard let (slot, priority) = self.leastOfAll() else { return }
        let node = self.nodes[slot]
        self.nodes[node.previous].next = node.next
        self.nodes[node.next].previous = node.previous
        self.free = slot
        self.bound = max(self.bound, Meters(min(priority, Self.farthest)))
        for neighbour in [node.previous, node.next] {
            self.nodes[neighbour].inherited = max(self.nodes[neighbour].inherited, priority)
            self.rank(neighbour)
        }
    }

    /// Takes out the point that shows least; until there is one, interruptions are drawn over.
    private mutating func leastOfAll() -> (slot: Int, priority: Double)? {
        while true {
            if let least = self.heap.popMin() { return least }
            guard let (slot, _) = self.interruptions.popMin() else { return nil }
            self.nodes[slot].beginsPiece = false
            self.rank(self.nodes[slot].previous)
            self.rank(slot)
        }
    }

    /// Ranks a point by what its absence leads to; the outermost points of a piece are not ranked.
    private mutating func rank(_ slot: Int) {
        let node = self.nodes[slot]
        guard node.previous >= 0, node.next >= 0, !node.beginsPiece, !self.nodes[node.next].beginsPiece else { return }
        let distance = Self.distance(
            of: node.point, from: self.nodes[node.previous].point, to: self.nodes[node.next].point)
        self.heap.set(slot, to: .init(priority: node.inherited + distance, number: node.number))
    }

    /// The synchronized distance of `point` from the way between two others, in metres.
    static func distance(of point: Location, from start: Location, to end: Location) -> Double {
        let place = point.coordinate
        let lengths = (
            start.coordinate.distance(to: place).value, place.distance(to: end.coordinate).value,
            start.coordinate.distance(to: end.coordinate).value
        )
        // A stretch and what takes its place go apart evenly only while both together are at most half a circle.
        guard max(lengths.0, lengths.1) + lengths.2 <= Self.farthest else { return Self.farthest }
        let whole = end.time.seconds - start.time.seconds
        guard whole > 0 else { return max(lengths.0, lengths.1) }
        let fraction = (point.time.seconds - start.time.seconds) / whole
        return start.coordinate.interpolated(to: end.coordinate, fraction: fraction).distance(to: place).value
    }
}
