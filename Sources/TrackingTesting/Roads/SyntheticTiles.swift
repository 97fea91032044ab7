private import SystemLibrary
import TrackingCore

/// A map tile of the generated town, in the format Mapbox Vector Tile 2.1.
///
/// The layers have the names and properties of OpenMapTiles: `transportation` with the class of each road, and
/// `transportation_name` with its name.
public struct SyntheticTile: Hashable, Sendable {
    /// The zoom level of the tile.
    public var zoom: Int
    /// The column of the tile, counted from west.
    public var column: Int
    /// The row of the tile, counted from north.
    public var row: Int
    /// The content of the tile.
    public var bytes: [UInt8]
}

extension SyntheticRoads {
    /// Returns the tiles that show the roads at the given zoom levels. The other tiles are empty.
    public func tiles(zooms: ClosedRange<Int>) -> [SyntheticTile] {
        zooms.flatMap { zoom in
            var layers: [TilePosition: TileLayers] = [:]
            for road in self.roads {
                let line = road.shape.map { TilePoint($0, zoom: zoom) }
                for position in TilePosition.all(of: line) {
                    layers[position, default: TileLayers()].add(road, line, position)
                }
            }
            return layers.sorted { ($0.key.column, $0.key.row) < ($1.key.column, $1.key.row) }.map { position, layers in
                SyntheticTile(zoom: zoom, column: position.column, row: position.row, bytes: layers.bytes)
            }
        }
    }
}

/// The number of units along the edge of a tile.
private let extent = 4096

/// A point of the world map at one zoom level, in units from the north-west corner of the map.
private struct TilePoint: Hashable {
    let x: Int
    let y: Int

    /// Projects a coordinate by the spherical Mercator projection.
    init(_ coordinate: Coordinate, zoom: Int) {
        let size = Double(extent << zoom)
        let latitude = coordinate.latitude * .pi / 180
        self.x = Int(((coordinate.longitude + 180) / 360 * size).rounded())
        self.y = Int(((1 - asinh(tan(latitude)) / .pi) / 2 * size).rounded())
    }
}

/// The column and the row of a tile.
private struct TilePosition: Hashable {
    let column: Int
    let row: Int

    /// The distance from a tile within which a wide line is seen in the tile, in units.
    private static let margin = 128

    /// Returns the tiles on which the box around a line lies.
    static func all(of line: [TilePoint]) -> [TilePosition] {
        let columns = Self.range(line.map(\.x))
        let rows = Self.range(line.map(\.y))
        return columns.flatMap { column in rows.map { TilePosition(column: column, row: $0) } }
    }

    private static func range(_ values: [Int]) -> ClosedRange<Int> {
        let (low, high) = (values.min() ?? 0, values.max() ?? 0)
        return max(0, low - Self.margin) / extent...(high + Self.margin) / extent
    }
}

/// The two layers of one tile.
private struct TileLayers {
    private var roads = TileLayer(name: "transportation")
    private var names = TileLayer(name: "transportation_name")

    mutating func add(_ road: SyntheticRoads.Road, _ line: [TilePoint], _ position: TilePosition) {
        let local = line.map { (x: $0.x - position.column * extent, y: $0.y - position.row * extent) }
        let kind = (key: "class", value: road.roadClass == "residential" ? "minor" : road.roadClass)
        self.roads.add(local, [kind])
        self.names.add(local, [kind, (key: "name", value: road.name)])
    }

    var bytes: [UInt8] { (self.roads.fields + self.names.fields).bytes }
}

/// A layer of a vector tile with lines.
private struct TileLayer {
    private var features = ProtocolBuffer()
    private var keys: [String] = []
    private var values: [String] = []
    private let name: String

    init(name: String) { self.name = name }

    /// Adds a line with texts as properties. The points are in units from the north-west corner of the tile.
    mutating func add(_ line: [(x: Int, y: Int)], _ properties: [(key: String, value: String)]) {
        var tags: [UInt64] = []
        for (key, value) in properties {
            tags.append(Self.index(of: key, in: &self.keys))
            tags.append(Self.index(of: value, in: &self.values))
        }
        var feature = ProtocolBuffer()
        feature.append(2, numbers: tags)
        feature.append(3, 2)  // a line
        feature.append(4, numbers: Self.commands(line))
        self.features.append(2, feature.bytes)
    }

    private static func index(of text: String, in list: inout [String]) -> UInt64 {
        if let index = list.firstIndex(of: text) { return UInt64(index) }
        list.append(text)
        return UInt64(list.count - 1)
    }

    /// Returns the drawing commands of a line: one step to its first point, and lines to the others.
    private static func commands(_ line: [(x: Int, y: Int)]) -> [UInt64] {
        var commands: [UInt64] = []
        var last = (x: 0, y: 0)
        for (index, point) in line.enumerated() {
            if index == 0 { commands.append(1 << 3 | 1) }
            if index == 1 { commands.append(UInt64(line.count - 1) << 3 | 2) }
            commands += [ProtocolBuffer.signed(point.x - last.x), ProtocolBuffer.signed(point.y - last.y)]
            last = point
        }
        return commands
    }

    /// The field of this layer in the message of the tile.
    var fields: ProtocolBuffer {
        var layer = ProtocolBuffer()
        layer.append(15, 2)  // the version of the format
        layer.append(1, Array(self.name.utf8))
        layer.append(self.features)
        for key in self.keys { layer.append(3, Array(key.utf8)) }
        for value in self.values {
            var text = ProtocolBuffer()
            text.append(1, Array(value.utf8))
            layer.append(4, text.bytes)
        }
        layer.append(5, UInt64(extent))
        var field = ProtocolBuffer()
        field.append(3, layer.bytes)
        return field
    }
}

/// A message in the format Protocol Buffers, as a sequence of fields.
private struct ProtocolBuffer {
    private(set) var bytes: [UInt8] = []

    static func + (left: Self, right: Self) -> Self {
        var sum = left
        sum.append(right)
        return sum
    }

    /// Returns a signed number with its sign in the lowest bit.
    static func signed(_ value: Int) -> UInt64 { UInt64(bitPattern: Int64(value << 1 ^ value >> 63)) }

    /// Appends the fields of another message.
    mutating func append(_ other: ProtocolBuffer) { self.bytes += other.bytes }

    /// Appends a field with a number.
    mutating func append(_ field: UInt64, _ value: UInt64) {
        self.append(varint: field << 3)
        self.append(varint: value)
    }

    /// Appends a field with bytes.
    mutating func append(_ field: UInt64, _ content: [UInt8]) {
        self.append(varint: field << 3 | 2)
        self.append(varint: UInt64(content.count))
        self.bytes += content
    }

    /// Appends a field with several numbers.
    mutating func append(_ field: UInt64, numbers: [UInt64]) {
        var content = ProtocolBuffer()
        for number in numbers { content.append(varint: number) }
        self.append(field, content.bytes)
    }

    private mutating func append(varint value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            self.bytes.append(UInt8(rest & 0x7F | 0x80))
            rest >>= 7
        }
        self.bytes.append(UInt8(rest))
    }
}
