/// The decision of one live stream between the positions of the trackables in its area and counts of its cells.
///
/// A stream whose area has many trackables has counts, and later only the counts that changed. The stream returns to
/// positions when the area has clearly fewer trackables.
struct CellView: Hashable, Sendable {
    /// The largest number of trackables in the cells of an area whose positions a live stream has: 1,500.
    static let maximumPositions = 1_500
    /// The number of trackables in the cells of an area below which a live stream with counts returns to positions: 1,200.
    static let fewPositions = 1_200
    /// The time between two comparisons of the counts: 2 s.
    static let interval = Duration.seconds(2)

    /// The next thing that the live stream must deliver.
    enum Step: Hashable, Sendable {
        /// Nothing has changed.
        case unchanged
        /// Deliver the current state of the trackables in the area, and then each update.
        case positions
        /// Deliver these counts, and no updates. Without `isComplete`, they are those that changed; an empty cell has
        /// the count 0.
        case cells([GridCell: CellCount], isComplete: Bool)
    }

    private enum Mode: Hashable {
        case positions
        /// The client has these counts.
        case cells([GridCell: CellCount])
    }

    /// The area of the live stream.
    let area: CellArea
    private var mode = Mode.positions

    /// Creates the decision of a new live stream of an area, which begins with positions.
    init(_ area: CellArea) { self.area = area }

    /// Compares the counts of the area's cells with those that the client has.
    ///
    /// - Parameter cells: The cells of the area that are not empty.
    mutating func update(_ cells: [GridCell: CellCount]) -> Step {
        let total = cells.values.reduce(0) { $0 + $1.count }
        switch self.mode {
        case .positions where total <= Self.maximumPositions: return .unchanged
        case .positions:
            self.mode = .cells(cells)
            return .cells(cells, isComplete: true)
        case .cells where total < Self.fewPositions:
            self.mode = .positions
            return .positions
        case .cells(let former):
            self.mode = .cells(cells)
            var changed = cells.filter { former[$0.key] != $0.value }
            for cell in former.keys where cells[cell] == nil { changed[cell] = CellCount() }
            return changed.isEmpty ? .unchanged : .cells(changed, isComplete: false)
        }
    }
}
