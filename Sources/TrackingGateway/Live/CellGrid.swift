private import SystemLibrary
package import TrackingCore

/// A cell of a square grid over the map of the world (Web Mercator). At level z, the grid has 2^z columns and 2^z rows.
/// The same cell is the tile of that number at zoom level z.
package struct GridCell: Hashable, Sendable {
    /// The levels of the grid: from cells of 45° to cells of about 300 m at the equator.
    package static let levels = 3...17

    /// The number of the column, from 0 at the longitude -180°.
    package let column: UInt32
    /// The number of the row, from 0 in the north.
    package let row: UInt32

    /// Creates a cell from its column and row.
    package init(column: UInt32, row: UInt32) {
        self.column = column
        self.row = row
    }

    /// Creates the cell of a level that contains a coordinate. Latitudes beyond the map are in its first or last row.
    package init(_ place: Coordinate, level: Int) {
        let size = Double(1 << level)
        let y = (1 - asinh(tan(place.latitude * .pi / 180)) / .pi) / 2
        self.column = Self.index((place.longitude + 180) / 360 * size, size)
        self.row = Self.index(y * size, size)
    }

    private static func index(_ position: Double, _ size: Double) -> UInt32 {
        UInt32(min(max(position, 0), size - 1))
    }

    /// The four cells of the next higher level in this cell.
    var children: [GridCell] {
        let (column, row) = (self.column << 1, self.row << 1)
        return [(column, row), (column + 1, row), (column, row + 1), (column + 1, row + 1)].map(GridCell.init)
    }

    /// Returns the cell of a lower or the same level that contains this cell of the highest level.
    func ancestor(level: Int) -> GridCell {
        let shift = UInt32(Self.levels.upperBound - level)
        return GridCell(column: self.column >> shift, row: self.row >> shift)
    }
}

/// The cells of one level that a geographic area touches.
package struct CellArea: Hashable, Sendable {
    /// The largest number of columns and of rows: 64. An area with more has cells of a lower level.
    package static let maximumSide = 64

    /// The level of the cells.
    package let level: Int
    /// The columns, in order.
    package let columns: [UInt32]
    /// The rows.
    package let rows: ClosedRange<UInt32>

    /// Creates the cells of a geographic box.
    ///
    /// - Parameters:
    ///   - box: The box; `nil` for the whole world.
    ///   - level: The wanted level, in ``GridCell/levels``. The level is lower if the box has too many cells of the
    ///     wanted one.
    package init(_ box: GeoBox?, level: Int) {
        var level = level
        let parts = box?.parts ?? [Self.world]
        var ranges = parts.map { Self.columns(of: $0, level) }
        var rows = Self.rows(of: parts[0], level)
        while level > GridCell.levels.lowerBound,
            max(rows.count, ranges.reduce(0) { $0 + $1.count }) > Self.maximumSide
        {
            level -= 1
            ranges = parts.map { Self.columns(of: $0, level) }
            rows = Self.rows(of: parts[0], level)
        }
        self.level = level
        self.columns = Set(ranges.joined()).sorted()
        self.rows = rows
    }

    // The edges are in range.
    private static let world = GeoBox(south: -90, west: -180, north: 90, east: 180)!

    private static func columns(of box: GeoBox, _ level: Int) -> ClosedRange<UInt32> {
        let (west, east) = (Self.cell(box.south, box.west, level), Self.cell(box.south, box.east, level))
        return west.column...max(west.column, east.column)
    }

    private static func rows(of box: GeoBox, _ level: Int) -> ClosedRange<UInt32> {
        let (north, south) = (Self.cell(box.north, box.west, level), Self.cell(box.south, box.west, level))
        return north.row...max(north.row, south.row)
    }

    private static func cell(_ latitude: Double, _ longitude: Double, _ level: Int) -> GridCell {
        // The corners of a box are coordinates.
        GridCell(Coordinate(latitude: latitude, longitude: longitude)!, level: level)
    }

    /// Returns `true` if a cell of a lower or the same level has cells of this area.
    func touches(_ cell: GridCell, level: Int) -> Bool {
        let shift = UInt32(self.level - level)
        let rows = (self.rows.lowerBound >> shift)...(self.rows.upperBound >> shift)
        guard rows.contains(cell.row) else { return false }
        guard self.isOneRange, let first = self.columns.first, let last = self.columns.last else {
            return self.columns.contains { $0 >> shift == cell.column }
        }
        return cell.column >= first >> shift && cell.column <= last >> shift
    }

    /// `true` if the columns are one range. They are two at the edges of the map.
    private var isOneRange: Bool {
        guard let first = self.columns.first, let last = self.columns.last else { return true }
        return Int(last - first) + 1 == self.columns.count
    }

    /// Returns `true` if a cell of this area's level belongs to the area.
    func contains(_ cell: GridCell) -> Bool {
        guard self.rows.contains(cell.row), let first = self.columns.first, let last = self.columns.last else {
            return false
        }
        if self.isOneRange { return (first...last).contains(cell.column) }
        return self.columns.contains(cell.column)
    }
}
