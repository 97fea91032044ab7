public import TrackingCore

/// Reduces a track to at most ``maximumPoints`` points in one pass. It needs memory only for the remaining points, and
/// provides an upper ``bound`` of the error.
///
/// The first and the last point always remain. When there are too many points, the one with the least priority is
/// dropped. The priority of a point is roughly the distance that the track loses without it. It is measured between the
/// point and the simplified track at the same time; between two remaining points, the simplified track moves evenly
/// along the great circle. A dropped point passes its priority on to its two neighbours, so that errors add up.
/// Altitudes are ignored.
///
/// The algorithm is SQUISH-E with a fixed number of points (J. Muckell, P. W. Olsen, J.-H. Hwang, C. T. Lawson, S. S.
/// Ravi: "Compression of trajectory data: a comprehensive evaluation and new approach", GeoInformatica 18, 2014).
///
/// At an interruption of the track (``interrupt()``), the points on both sides remain, and no distance is measured
/// across it. When there are more such points than the maximum, the shortest interruptions are closed first.
public struct HistorySimplifier: Sendable {
    /// The largest number of points of the simplified track, 2 to 1,000,000.
    public let maximumPoints: Int
    /// The number of points that were appended to the simplifier, including the dropped ones.
    public private(set) var count = 0
    /// An upper bound of the simplification's error, in metres. It is the largest possible distance between a dropped
    /// point and the place of the simplified track at the time of that point. 0 when no point was dropped.
    public private(set) var bound: Meters = 0

    /// A point of the simplified track, with the indices in `nodes` of the points before and after it; -1 for none.
    private struct Node: Sendable {
        var point: Location
        var previous: Int
        var next: Int
        /// The greatest priority of the dropped neighbours of this point, in metres. The priority of the point is this
        /// value plus the point's own distance from the track.
        var inherited = 0.0
        /// `true` when the track is interrupted directly before this point.
        var beginsPiece: Bool
        /// The number of points that were appended to the simplifier before this point.
        let number: Int
    }

    private var nodes: [Node] = []
    private var heap: IndexedHeap
    /// The interruptions of the track that were not closed, each given by the first point after it. The heap has the
    /// shortest interruption first.
    private var interruptions: IndexedHeap
    private var isInterrupted = false
    private var last = -1
    private var free = -1

    /// Half the circumference of the Earth in metres, the greatest possible distance between two coordinates.
    private static let farthest = Coordinate.meanEarthRadius.value * .pi

    /// The greatest permitted value of ``maximumPoints``. It limits the memory that a simplifier needs.
    public static let maximumLimit = 1_000_000

    /// Makes a simplifier with a result of at most `maximumPoints` points.
    ///
    /// - Throws: `TrackingError.Code.invalidConfiguration` when the number is not 2 to 1,000,000.
    public init(maximumPoints: Int) throws(TrackingError) {
        guard (2...Self.maximumLimit).contains(maximumPoints) else {
            throw TrackingError(
                .invalidConfiguration,
                "the maximum number of points of a simplified history must be 2 to \(Self.maximumLimit), not \(maximumPoints)"
            )
        }
        self.maximumPoints = maximumPoints
        self.heap = IndexedHeap(capacity: maximumPoints + 1)
        self.interruptions = self.heap
    }

    /// Interrupts the track that is being simplified, because points are missing between the last appended point and
    /// the next one. The points on both sides of the interruption remain, and no distance is measured across it.
    public mutating func interrupt() { self.isInterrupted = self.last >= 0 }

    /// Appends a point to the track. Points must be appended in order of time.
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

    /// The number of points that the simplifier holds in memory. Tests compare it with the maximum.
    var heldPoints: Int { self.nodes.count }

    /// The points of the simplified track, in order.
    public var points: [Location] { self.pieces.flatMap(\.self) }

    /// The points of the simplified track in order, as one list for each uninterrupted piece.
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

    /// Drops the point with the least priority, and passes its priority on to the points before and after it. If
    /// interruptions of the track protect all points, the shortest interruptions are closed first.
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

    /// Removes the point with the least priority from the heap and returns it. If no point has a priority, closes
    /// interruptions of the track, the shortest first, until a point has one.
    private mutating func leastOfAll() -> (slot: Int, priority: Double)? {
        while true {
            if let least = self.heap.popMin() { return least }
            guard let (slot, _) = self.interruptions.popMin() else { return nil }
            self.nodes[slot].beginsPiece = false
            self.rank(self.nodes[slot].previous)
            self.rank(slot)
        }
    }

    /// Computes the priority of a point: its distance from the track without it, plus the priority inherited from
    /// dropped neighbours. The first and the last point of an uninterrupted piece have no priority and are not dropped.
    private mutating func rank(_ slot: Int) {
        let node = self.nodes[slot]
        guard node.previous >= 0, node.next >= 0, !node.beginsPiece, !self.nodes[node.next].beginsPiece else { return }
        let distance = Self.distance(
            of: node.point, from: self.nodes[node.previous].point, to: self.nodes[node.next].point)
        self.heap.set(slot, to: .init(priority: node.inherited + distance, number: node.number))
    }

    /// Returns the distance in metres by which `point` deviates from an even movement from `start` to `end`, measured
    /// at the time of `point`. For movements that are too long for an exact measurement, returns half the Earth's
    /// circumference.
    static func distance(of point: Location, from start: Location, to end: Location) -> Double {
        let place = point.coordinate
        let lengths = (
            start.coordinate.distance(to: place).value, place.distance(to: end.coordinate).value,
            start.coordinate.distance(to: end.coordinate).value
        )
        // A segment and its replacement diverge evenly only while both together are at most half the circumference.
        guard max(lengths.0, lengths.1) + lengths.2 <= Self.farthest else { return Self.farthest }
        let whole = end.time.seconds - start.time.seconds
        guard whole > 0 else { return max(lengths.0, lengths.1) }
        let fraction = (point.time.seconds - start.time.seconds) / whole
        return start.coordinate.interpolated(to: end.coordinate, fraction: fraction).distance(to: place).value
    }
}
