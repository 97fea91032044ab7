package import TrackingCore
package import TrackingSubscriber

/// The number of trackables in one cell of the map's grid.
package struct CellCount: Hashable, Sendable {
    /// The number of trackables whose last known position is in the cell.
    package var count = 0
    /// The number of those that are online and faster than ``CellCounts/slowest``.
    package var moving = 0
    /// The number of those with the state stale or failed.
    package var stale = 0
    /// The only trackable in the cell; `nil` if the cell has none or several.
    package var only: TrackableID?

    /// Creates the count of an empty cell.
    package init() {}
}

/// The number of trackables in each cell of the map's grid, at all levels of the grid. A position or a state changes only
/// the counts of the trackable's own cells, one at each level.
package struct CellCounts: Sendable {
    /// The speed in m/s above which a trackable counts as moving: 0.5. The map page uses the same speed for its arrows.
    package static let slowest = 0.5

    /// The counters of one cell.
    private struct Tally {
        var count: Int32 = 0
        var moving: Int32 = 0
        var stale: Int32 = 0
        /// The sum of the numbers of the trackables in the cell. If there is one trackable, the sum is its number.
        var numbers: UInt32 = 0
    }

    /// A trackable, as it is counted.
    private struct Member: Equatable {
        let number: UInt32
        /// The cell of the highest level; `nil` without a known position.
        var cell: GridCell?
        var isFast = false
        var state = SubscriberState.offline

        var isMoving: Bool { self.isFast && self.state == .online }
        var isStale: Bool { self.state == .stale || self.state == .failed }
    }

    /// The counters of the cells that are not empty, for each level from the lowest on.
    private var levels = GridCell.levels.map { _ in [GridCell: Tally]() }
    private var members: [TrackableID: Member] = [:]
    /// The trackable of each number; `nil` for a number that is free.
    private var names: [TrackableID?] = []
    private var free: [UInt32] = []

    /// Creates the counts without any trackable.
    package init() {}

    /// Handles a new position of a trackable.
    ///
    /// - Parameter speed: The speed in m/s; `nil` if it is not known.
    package mutating func moved(_ id: TrackableID, to place: Coordinate, speed: Double?) {
        let cell = GridCell(place, level: GridCell.levels.upperBound)
        self.change(id) { member in
            member.cell = cell
            member.isFast = (speed ?? 0) > Self.slowest
        }
    }

    /// Handles a new state of a trackable.
    package mutating func changed(_ id: TrackableID, to state: SubscriberState) {
        self.change(id) { $0.state = state }
    }

    /// Handles that the position of a trackable was cleared.
    package mutating func cleared(_ id: TrackableID) {
        guard self.members[id] != nil else { return }
        self.change(id) { $0.cell = nil }
    }

    /// Removes a trackable.
    package mutating func forget(_ id: TrackableID) {
        self.cleared(id)
        guard let member = self.members.removeValue(forKey: id) else { return }
        self.names[Int(member.number)] = nil
        self.free.append(member.number)
    }

    /// Returns the counts of the cells of an area that are not empty.
    package func cells(in area: CellArea) -> [GridCell: CellCount] {
        let level = self.levels[area.level - GridCell.levels.lowerBound]
        var found: [GridCell: CellCount] = [:]
        guard level.count > area.rows.count * area.columns.count else {
            for (cell, tally) in level where area.contains(cell) { found[cell] = self.count(tally) }
            return found
        }
        for row in area.rows {
            for column in area.columns {
                let cell = GridCell(column: column, row: row)
                if let tally = level[cell] { found[cell] = self.count(tally) }
            }
        }
        return found
    }

    private func count(_ tally: Tally) -> CellCount {
        var count = CellCount()
        count.count = Int(tally.count)
        count.moving = Int(tally.moving)
        count.stale = Int(tally.stale)
        count.only = tally.count == 1 ? self.names[Int(tally.numbers)] : nil
        return count
    }

    private mutating func change(_ id: TrackableID, _ body: (inout Member) -> Void) {
        var member: Member
        if let known = self.members[id] { member = known } else { member = Member(number: self.takeNumber(for: id)) }
        let former = member
        body(&member)
        self.members[id] = member
        let isSame =
            (former.cell, former.isMoving, former.isStale) == (member.cell, member.isMoving, member.isStale)
        guard !isSame else { return }
        self.add(former, -1)
        self.add(member, 1)
    }

    private mutating func takeNumber(for id: TrackableID) -> UInt32 {
        if let number = self.free.popLast() {
            self.names[Int(number)] = id
            return number
        }
        self.names.append(id)
        return UInt32(self.names.count - 1)
    }

    /// Adds a trackable to the counters of its cells (1), or removes it from them (-1).
    private mutating func add(_ member: Member, _ sign: Int32) {
        guard var cell = member.cell else { return }
        for index in self.levels.indices.reversed() {
            var tally = self.levels[index][cell] ?? Tally()
            tally.count += sign
            if member.isMoving { tally.moving += sign }
            if member.isStale { tally.stale += sign }
            tally.numbers = sign > 0 ? tally.numbers &+ member.number : tally.numbers &- member.number
            self.levels[index][cell] = tally.count == 0 ? nil : tally
            cell = cell.parent
        }
    }
}
