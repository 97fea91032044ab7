public import TrackingCore

/// A routing engine with a small generated town, for tests and demonstrations without a map.
///
/// The town has a grid of streets, some of them one-way, a roundabout in the middle, and a trunk road beside the
/// westernmost street. Every call gives the same answers. ``roads`` describes the streets.
public struct SyntheticRoads: RoadEngine {
    /// A road of the town.
    public struct Road: Hashable, Sendable {
        /// The number of the road, in place of the number of an OpenStreetMap way.
        public var way: UInt64
        /// The name of the road.
        public var name: String
        /// The class of the road, such as `residential`.
        public var roadClass: String
        /// The speed limit in metres per second.
        public var speedLimit: Double
        /// `true` for a road that vehicles use only in the direction of its points.
        public var isOneWay: Bool
        /// The points of the road, in order. Roads are connected at equal points.
        public var shape: [Coordinate]

        /// Makes a road. Two roads are connected where a point of one has exactly the coordinates of a point of the
        /// other.
        public init(
            way: UInt64, name: String, roadClass: String, speedLimit: Double, isOneWay: Bool, shape: [Coordinate]
        ) {
            self.way = way
            self.name = name
            self.roadClass = roadClass
            self.speedLimit = speedLimit
            self.isOneWay = isOneWay
            self.shape = shape
        }
    }

    /// A piece of a road between two points, in one direction.
    struct Edge: Sendable {
        var id: Int
        var from: Int
        var to: Int
        var road: Int
        var length: Double
        /// `true` for the direction against a one-way road, which only pedestrians use.
        var isAgainstOneWay: Bool
    }

    /// A position on an edge.
    struct Place: Sendable {
        var edge: Int
        /// The part of the edge before the position, 0…1.
        var fraction: Double
        /// The distance from the searched coordinate, in metres.
        var offset: Double
    }

    /// The roads of the town.
    public let roads: [Road]
    /// The points at which edges begin and end.
    private(set) var nodes: [Coordinate] = []
    private(set) var edges: [Edge] = []
    /// The numbers of the edges that begin at each node.
    private(set) var leaving: [[Int]] = []

    /// Makes an engine from roads.
    public init(roads: [Road]) {
        self.roads = roads
        var numbers: [Coordinate: Int] = [:]
        for (index, road) in roads.enumerated() {
            for (start, end) in zip(road.shape, road.shape.dropFirst()) {
                let from = self.node(start, &numbers)
                let to = self.node(end, &numbers)
                self.add(from, to, road: index, isAgainstOneWay: false)
                self.add(to, from, road: index, isAgainstOneWay: road.isOneWay)
            }
        }
    }

    private mutating func node(_ place: Coordinate, _ numbers: inout [Coordinate: Int]) -> Int {
        if let number = numbers[place] { return number }
        numbers[place] = self.nodes.count
        self.nodes.append(place)
        self.leaving.append([])
        return self.nodes.count - 1
    }

    private mutating func add(_ from: Int, _ to: Int, road: Int, isAgainstOneWay: Bool) {
        let length = self.nodes[from].distance(to: self.nodes[to]).value
        let edge = Edge(
            id: self.edges.count, from: from, to: to, road: road, length: length, isAgainstOneWay: isAgainstOneWay)
        self.edges.append(edge)
        self.leaving[from].append(edge.id)
    }

    // MARK: Edges

    /// Returns the speed on an edge in metres per second; `nil` when the profile may not use the edge.
    func speed(on edge: Edge, _ profile: TravelProfile) -> Double? {
        let road = self.roads[edge.road]
        switch profile {
        case .pedestrian: return road.roadClass == "trunk" ? nil : 1.4
        case .bicycle: return road.roadClass == "trunk" || edge.isAgainstOneWay ? nil : 5
        case .auto, .bus: return edge.isAgainstOneWay ? nil : road.speedLimit * 0.9
        case .truck: return edge.isAgainstOneWay ? nil : min(22, road.speedLimit * 0.8)
        }
    }

    /// Returns the coordinate of a position on an edge.
    func coordinate(_ place: Place) -> Coordinate {
        let edge = self.edges[place.edge]
        return self.nodes[edge.from].interpolated(to: self.nodes[edge.to], fraction: place.fraction)
    }

    /// Returns the positions on permitted edges that are nearest to a coordinate, one for each edge, the nearest first.
    func places(near coordinate: Coordinate, within radius: Double, _ profile: TravelProfile) -> [Place] {
        var places: [Place] = []
        for edge in self.edges where self.speed(on: edge, profile) != nil {
            let (fraction, offset) = coordinate.projected(onto: self.nodes[edge.from], self.nodes[edge.to])
            if offset <= radius { places.append(Place(edge: edge.id, fraction: fraction, offset: offset)) }
        }
        return places.sorted { ($0.offset, $0.edge) < ($1.offset, $1.edge) }
    }

    /// Returns the distance from a coordinate to the nearest road.
    public func distanceToRoad(from coordinate: Coordinate) -> Meters {
        let offsets = self.edges.map { coordinate.projected(onto: self.nodes[$0.from], self.nodes[$0.to]).offset }
        return Meters(offsets.min() ?? .infinity)
    }

    // MARK: Ways

    /// The cheapest ways from a position to all nodes.
    struct Ways {
        /// The cost of the way to each node; infinite for a node that is not reached.
        var costs: [Double]
        /// The last edge of the way to each node.
        var edges: [Int?]
    }

    /// Returns the cheapest ways from a position, by the algorithm of Dijkstra.
    ///
    /// - Parameters:
    ///   - limit: The greatest cost of a way.
    ///   - cost: Returns the cost of an edge; `nil` when it may not be used.
    func ways(from place: Place, limit: Double = .infinity, cost: (Edge) -> Double?) -> Ways {
        var ways = Ways(
            costs: [Double](repeating: .infinity, count: self.nodes.count),
            edges: [Int?](repeating: nil, count: self.nodes.count))
        let start = self.edges[place.edge]
        guard let first = cost(start) else { return ways }
        ways.costs[start.to] = first * (1 - place.fraction)
        ways.edges[start.to] = start.id
        var open: Set<Int> = [start.to]
        while let node = open.min(by: { (ways.costs[$0], $0) < (ways.costs[$1], $1) }), ways.costs[node] <= limit {
            open.remove(node)
            for number in self.leaving[node] {
                let edge = self.edges[number]
                guard let more = cost(edge), ways.costs[node] + more < ways.costs[edge.to] else { continue }
                ways.costs[edge.to] = ways.costs[node] + more
                ways.edges[edge.to] = number
                open.insert(edge.to)
            }
        }
        return ways
    }

    /// Returns the edges of the way from the first edge of `ways` to a node, in the order of travel.
    func path(_ ways: Ways, from start: Place, to node: Int) -> [Int] {
        var path: [Int] = []
        var node = node
        while let edge = ways.edges[node], path.count <= self.edges.count {
            path.append(edge)
            if edge == start.edge { break }
            node = self.edges[edge].from
        }
        return path.reversed()
    }
}
