private import SystemLibrary
public import TrackingCore

extension SyntheticRoads {
    /// The number of streets in each direction.
    public static let streets = 9
    /// The distance between two parallel streets.
    public static let block: Meters = 200
    /// The distance between the trunk road and the street beside it.
    public static let frontage: Meters = 25
    /// The radius of the roundabout in the middle of the town.
    public static let roundabout: Meters = 25

    /// The south-west corner of the default town, in the sea south of West Africa.
    public static let corner = Coordinate(latitude: 0.5, longitude: 0.5)!  // in range

    /// Makes an engine with the generated town.
    ///
    /// Avenues go north and streets go east, each from 1 to ``streets`` at a distance of ``block``. Avenues with an even
    /// number are one-way: those divisible by four lead south, the others north. The trunk road leads north at the
    /// distance ``frontage`` west of Avenue 1, and is connected with the first and the last street. The roundabout is
    /// at the crossing of the middle avenue and the middle street.
    ///
    /// - Parameter corner: The crossing of Avenue 1 and Street 1, not nearer to a pole than some kilometres.
    public init(corner: Coordinate = Self.corner) {
        let town = Town(corner: corner)
        self.init(roads: town.avenues + town.crossings + [town.ring, town.trunk])
    }
}

/// The generator of the roads of the town.
private struct Town {
    let corner: Coordinate
    private let last = SyntheticRoads.streets - 1
    private var middle: Int { SyntheticRoads.streets / 2 }

    init(corner: Coordinate) { self.corner = corner }

    /// Returns a place in metres east and north of the corner.
    private func place(east: Double, north: Double) -> Coordinate {
        self.corner.destination(bearing: 0, distance: Meters(north)).destination(bearing: 90, distance: Meters(east))
    }

    private func crossing(_ avenue: Int, _ street: Int) -> Coordinate {
        let block = SyntheticRoads.block.value
        return self.place(east: Double(avenue) * block, north: Double(street) * block)
    }

    /// Returns the points of a road through crossings. At the roundabout, the road has a gap: it is two roads.
    private func lines(_ crossings: [(avenue: Int, street: Int)]) -> [[Coordinate]] {
        var lines: [[Coordinate]] = [[]]
        for (index, crossing) in crossings.enumerated() {
            guard crossing.avenue == self.middle, crossing.street == self.middle, index > 0 else {
                lines[lines.count - 1].append(self.crossing(crossing.avenue, crossing.street))
                continue
            }
            let before = crossings[index - 1]
            lines[lines.count - 1].append(self.entry(from: before))
            let after = (avenue: 2 * crossing.avenue - before.avenue, street: 2 * crossing.street - before.street)
            lines.append([self.entry(from: after)])
        }
        return lines
    }

    /// Returns the point of the roundabout that is nearest to a neighbouring crossing.
    private func entry(from crossing: (avenue: Int, street: Int)) -> Coordinate {
        switch (crossing.avenue - self.middle, crossing.street - self.middle) {
        case (1, _): self.ringPoint(0)
        case (_, 1): self.ringPoint(3)
        case (-1, _): self.ringPoint(6)
        default: self.ringPoint(9)
        }
    }

    /// Returns one of the 12 points of the roundabout, counted against the clock from the east.
    private func ringPoint(_ index: Int) -> Coordinate {
        let (center, radius) = (Double(self.middle) * SyntheticRoads.block.value, SyntheticRoads.roundabout.value)
        let angle = Double(index % 12) * Double.pi / 6
        return self.place(east: center + radius * cos(angle), north: center + radius * sin(angle))
    }

    var avenues: [SyntheticRoads.Road] {
        (0...self.last).flatMap { avenue in
            let number = avenue + 1
            let north = (0...self.last).map { (avenue: avenue, street: $0) }
            return self.lines(number % 4 == 0 ? north.reversed() : north).map { shape in
                SyntheticRoads.Road(
                    way: UInt64(100 + number), name: "Avenue \(number)",
                    roadClass: avenue == self.middle ? "secondary" : "residential",
                    speedLimit: avenue == self.middle ? 13.9 : 8.3, isOneWay: number % 2 == 0, shape: shape)
            }
        }
    }

    var crossings: [SyntheticRoads.Road] {
        (0...self.last).flatMap { street in
            self.lines((0...self.last).map { (avenue: $0, street: street) }).map { shape in
                SyntheticRoads.Road(
                    way: UInt64(200 + street + 1), name: "Street \(street + 1)",
                    roadClass: street == self.middle ? "secondary" : "residential",
                    speedLimit: street == self.middle ? 13.9 : 8.3, isOneWay: false, shape: shape)
            }
        }
    }

    var ring: SyntheticRoads.Road {
        SyntheticRoads.Road(
            way: 300, name: "Roundabout", roadClass: "secondary", speedLimit: 8.3, isOneWay: true,
            shape: (0...12).map { self.ringPoint($0) })
    }

    var trunk: SyntheticRoads.Road {
        let west = -SyntheticRoads.frontage.value
        let length = Double(self.last) * SyntheticRoads.block.value
        let points = (1..<self.last).map { self.place(east: west, north: Double($0) * SyntheticRoads.block.value) }
        return SyntheticRoads.Road(
            way: 400, name: "Trunk Road", roadClass: "trunk", speedLimit: 25, isOneWay: true,
            shape: [self.crossing(0, 0), self.place(east: west, north: 60)] + points
                + [self.place(east: west, north: length - 60), self.crossing(0, self.last)])
    }
}
