import BenchmarkSupport
import Glibc
import TrackingCore
import TrackingTesting

/// Writes roads as a file of OpenStreetMap, in the format PBF without compression.
///
/// The format is described at https://wiki.openstreetmap.org/wiki/PBF_Format. The file has one block of nodes, one for
/// each point, and one block of ways, one for each road.
struct OpenStreetMapFile {
    private var strings: [String] = [""]
    private var indices: [String: UInt64] = ["": 0]
    private var nodes: [Coordinate: Int64] = [:]

    /// Writes a file with these roads.
    static func write(_ roads: [SyntheticRoads.Road], to path: String) throws {
        guard let file = fopen(path, "w") else { throw BenchmarkError("cannot write the file \(path)") }
        defer { fclose(file) }
        let bytes = Self.file(roads)
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else {
            throw BenchmarkError("cannot write the file \(path): the disk is full")
        }
    }

    private static func file(_ roads: [SyntheticRoads.Road]) -> [UInt8] {
        var header = ProtocolBuffer()
        header.append(4, "OsmSchema-V0.6")
        var map = OpenStreetMapFile()
        let nodes = map.nodes(of: roads)
        let ways = map.ways(roads)
        return self.block("OSMHeader", header) + self.block("OSMData", map.block(nodes))
            + self.block("OSMData", map.block(ways))
    }

    /// Returns a block of the file: the size of its header, its header, and its contents.
    private static func block(_ kind: String, _ contents: ProtocolBuffer) -> [UInt8] {
        var blob = ProtocolBuffer()
        blob.append(1, contents)
        var header = ProtocolBuffer()
        header.append(1, kind)
        header.append(3, UInt64(blob.bytes.count))
        let size = UInt32(header.bytes.count)
        return withUnsafeBytes(of: size.bigEndian) { Array($0) } + header.bytes + blob.bytes
    }

    /// Returns a group as the contents of a block, with the texts of the whole map.
    private func block(_ group: ProtocolBuffer) -> ProtocolBuffer {
        var table = ProtocolBuffer()
        for string in self.strings { table.append(1, string) }
        var block = ProtocolBuffer()
        block.append(1, table)
        block.append(2, group)
        return block
    }

    private mutating func index(_ string: String) -> UInt64 {
        if let index = self.indices[string] { return index }
        self.strings.append(string)
        self.indices[string] = UInt64(self.strings.count - 1)
        return UInt64(self.strings.count - 1)
    }

    /// Returns the group of all points, and remembers their numbers.
    private mutating func nodes(of roads: [SyntheticRoads.Road]) -> ProtocolBuffer {
        var group = ProtocolBuffer()
        for point in roads.flatMap(\.shape) where self.nodes[point] == nil {
            let id = Int64(self.nodes.count + 1)
            self.nodes[point] = id
            var node = ProtocolBuffer()
            node.append(1, signed: id)
            // Coordinates are multiples of 100 nanodegrees.
            node.append(8, signed: Int64((point.latitude * 1e7).rounded()))
            node.append(9, signed: Int64((point.longitude * 1e7).rounded()))
            group.append(1, node)
        }
        return group
    }

    private mutating func ways(_ roads: [SyntheticRoads.Road]) -> ProtocolBuffer {
        var group = ProtocolBuffer()
        for road in roads {
            let tags = Self.tags(of: road).sorted { $0.key < $1.key }
            var way = ProtocolBuffer()
            way.append(1, road.way)
            way.append(2, packed: tags.map { self.index($0.key) })
            way.append(3, packed: tags.map { self.index($0.value) })
            var before: Int64 = 0
            way.append(
                8,
                packed: road.shape.map { point in
                    let id = self.nodes[point] ?? 0
                    defer { before = id }
                    return ProtocolBuffer.zigzag(id - before)
                })
            group.append(3, way)
        }
        return group
    }

    private static func tags(of road: SyntheticRoads.Road) -> [String: String] {
        var tags = [
            "highway": road.roadClass, "name": road.name, "maxspeed": "\(Int((road.speedLimit * 3.6).rounded()))",
        ]
        if road.isOneWay { tags["oneway"] = "yes" }
        if road.name == "Roundabout" { tags["junction"] = "roundabout" }
        if road.isTunnel {
            tags["tunnel"] = "yes"
            tags["layer"] = "-1"
        }
        return tags
    }
}

/// The bytes of a message of Protocol Buffers.
private struct ProtocolBuffer {
    private(set) var bytes: [UInt8] = []

    /// Returns a signed number as the unsigned number in messages.
    static func zigzag(_ value: Int64) -> UInt64 { UInt64(bitPattern: (value << 1) ^ (value >> 63)) }

    mutating func append(_ field: UInt64, _ value: UInt64) {
        self.number(field << 3)
        self.number(value)
    }

    mutating func append(_ field: UInt64, signed value: Int64) { self.append(field, Self.zigzag(value)) }

    mutating func append(_ field: UInt64, _ message: ProtocolBuffer) { self.append(field, bytes: message.bytes) }

    mutating func append(_ field: UInt64, _ text: String) { self.append(field, bytes: Array(text.utf8)) }

    mutating func append(_ field: UInt64, packed values: [UInt64]) {
        var list = ProtocolBuffer()
        for value in values { list.number(value) }
        self.append(field, list)
    }

    private mutating func append(_ field: UInt64, bytes: [UInt8]) {
        self.number(field << 3 | 2)
        self.number(UInt64(bytes.count))
        self.bytes += bytes
    }

    private mutating func number(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            self.bytes.append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(rest))
    }
}
