import NIOCore
import TrackingCore

/// The server-sent event `cells`.
extension LiveFrame {
    /// The event `cells` of a live stream that has positions from now on.
    static var noCells: ByteBuffer { ByteBuffer(string: "event: cells\ndata: {\"cells\":null}\n\n") }

    /// Returns the event `cells` with the counts of cells, by row and column. The event with all counts clears the id
    /// from which a client resumes, because the client discards its other data.
    ///
    /// - Parameters:
    ///   - cells: The counts; 0 for a cell that became empty.
    ///   - level: The level of the cells.
    ///   - isComplete: `true` if every other cell is empty.
    static func cells(_ cells: [GridCell: CellCount], level: Int, isComplete: Bool) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(80 + 24 * cells.count)
        if isComplete { buffer.writeString("id\n") }
        buffer.writeString("event: cells\ndata: {\"z\":\(level),\"complete\":\(isComplete),\"cells\":[")
        let sorted = cells.sorted { ($0.key.row, $0.key.column) < ($1.key.row, $1.key.column) }
        for (index, (cell, count)) in sorted.enumerated() {
            if index > 0 { buffer.writeString(",") }
            buffer.writeString("[\(cell.column),\(cell.row),\(count.count),\(count.moving),\(count.stale)")
            if let only = count.only {
                buffer.writeString(",")
                buffer.writeBytes(JSONValue.text(only.rawValue).json)
            }
            buffer.writeString("]")
        }
        buffer.writeString("]}\n\n")
        return buffer
    }
}
