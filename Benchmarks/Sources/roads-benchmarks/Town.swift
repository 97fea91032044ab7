import BenchmarkSupport
import TrackingCore
import TrackingTesting

/// The generated town of ``SyntheticRoads`` with a tunnel and a motorway, cut at the crossings into pieces with numbers
/// of their own. The numbers of the pieces on a drive are the truth with which its match is compared.
struct Town: Sendable {
    /// A special place of the town through which drives lead.
    enum Place: CaseIterable, Sendable {
        case frontage, trunk, motorway, motorwayBack, parallel, roundabout, tunnel
    }

    /// The number of the first piece.
    private static let firstWay: UInt64 = 1_000
    private static let last = SyntheticRoads.streets - 1

    /// The pieces of the roads: each begins and ends at a crossing.
    let pieces: [SyntheticRoads.Road]
    /// The engine that finds the ways of the drives.
    let engine: SyntheticRoads
    private let pieceOfSegment: [[Coordinate]: Int]

    init() {
        let roads = SyntheticRoads().roads + Self.motorways + [Self.tunnel]
        var uses: [Coordinate: Int] = [:]
        for point in roads.flatMap(\.shape) { uses[point.rounded, default: 0] += 1 }
        var pieces: [SyntheticRoads.Road] = []
        for road in roads {
            var shape: [Coordinate] = []
            for (index, point) in road.shape.enumerated() {
                shape.append(point.rounded)
                let isCrossing = index == road.shape.count - 1 || uses[point.rounded, default: 0] > 1
                guard shape.count > 1, isCrossing else { continue }
                var piece = road
                (piece.way, piece.shape) = (Self.firstWay + UInt64(pieces.count), shape)
                pieces.append(piece)
                shape = [point.rounded]
            }
        }
        var pieceOfSegment: [[Coordinate]: Int] = [:]
        for (index, piece) in pieces.enumerated() {
            for (start, end) in zip(piece.shape, piece.shape.dropFirst()) {
                pieceOfSegment[[start, end]] = index
                pieceOfSegment[[end, start]] = index
            }
        }
        self.pieces = pieces
        self.engine = SyntheticRoads(roads: pieces)
        self.pieceOfSegment = pieceOfSegment
    }

    /// Returns the piece of a road between two consecutive points of a way.
    func piece(from start: Coordinate, to end: Coordinate) throws -> SyntheticRoads.Road {
        guard let index = self.pieceOfSegment[[start.rounded, end.rounded]] else {
            throw BenchmarkError("no road of the town leads from \(start) to \(end)")
        }
        return self.pieces[index]
    }

    /// Returns a point of the road at a special place.
    func via(_ place: Place) -> Coordinate {
        let middle = Self.last / 2
        return switch place {
        case .frontage: Self.crossing(0, middle)
        case .trunk: Self.place(east: -SyntheticRoads.frontage.value, north: Self.north(middle))
        case .motorway: Self.place(east: Self.motorwayEast + 20, north: Self.north(middle))
        case .motorwayBack: Self.place(east: Self.motorwayEast, north: Self.north(middle))
        case .parallel: Self.crossing(Self.last, middle)
        case .roundabout:
            Self.place(east: Self.north(middle) + SyntheticRoads.roundabout.value, north: Self.north(middle))
        case .tunnel: Self.tunnel.shape[1].rounded
        }
    }

    /// Returns the crossing of two streets, each from 0 to 8. The crossing at the roundabout is its middle.
    static func crossing(_ avenue: Int, _ street: Int) -> Coordinate {
        self.place(east: self.north(avenue), north: self.north(street))
    }

    private static func north(_ street: Int) -> Double { Double(street) * SyntheticRoads.block.value }

    private static func place(east: Double, north: Double) -> Coordinate {
        SyntheticRoads.corner.destination(bearing: 0, distance: Meters(north))
            .destination(bearing: 90, distance: Meters(east)).rounded
    }

    // MARK: Roads beside those of the generated town

    /// The distance from the corner to the southbound carriageway: 40 m east of the last avenue.
    private static let motorwayEast = Double(SyntheticRoads.streets - 1) * SyntheticRoads.block.value + 40

    /// The two carriageways of the motorway, with their ramps.
    private static var motorways: [SyntheticRoads.Road] {
        let length = self.north(self.last)
        return [20.0, 0].flatMap { east -> [SyntheticRoads.Road] in
            let inner = [100.0] + (1..<self.last).map { self.north($0) } + [length - 100]
            let line = inner.map { self.place(east: self.motorwayEast + east, north: $0) }
            let (south, north) = (self.crossing(self.last, 0), self.crossing(self.last, self.last))
            let parts = [[south, line[0]], line, [line[line.count - 1], north]]
            // The eastern carriageway leads north.
            let shapes = east > 0 ? parts : parts.map { $0.reversed() }
            return shapes.map { shape in
                SyntheticRoads.Road(
                    way: 0, name: "Motorway", roadClass: shape.count == 2 ? "motorway_link" : "motorway",
                    speedLimit: shape.count == 2 ? 13.9 : 27.8, isOneWay: true, shape: shape)
            }
        }
    }

    /// A one-way tunnel below two blocks of houses.
    private static var tunnel: SyntheticRoads.Road {
        SyntheticRoads.Road(
            way: 0, name: "Tunnel", roadClass: "tertiary", speedLimit: 13.9, isOneWay: true,
            shape: [
                self.crossing(1, 6), self.place(east: self.north(2) + 50, north: self.north(5) + 90),
                self.crossing(3, 5),
            ])
    }
}

extension SyntheticRoads.Road {
    /// `true` for the tunnel, in which a receiver has no fix.
    var isTunnel: Bool { self.name == "Tunnel" }
}
