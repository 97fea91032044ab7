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

        init() {}

        /// The counters of a cell with one trackable.
        init(_ member: Member) { self.add(member) }

        mutating func add(_ member: Member) {
            self.count += 1
            if member.isMoving { self.moving += 1 }
            if member.isStale { self.stale += 1 }
            self.numbers &+= member.number
        }

        mutating func remove(_ member: Member) {
            self.count -= 1
            if member.isMoving { self.moving -= 1 }
            if member.isStale { self.stale -= 1 }
            self.numbers &-= member.number
        }
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
    ///
    /// A trackable that is alone in a cell is alone in the smaller cells too. So a cell has counters only if its parent
    /// has several trackables, or at the lowest level.
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
        var found: [GridCell: CellCount] = [:]
        let shift = UInt32(area.level - GridCell.levels.lowerBound)
        for column in Set(area.columns.map { $0 >> shift }) {
            for row in (area.rows.lowerBound >> shift)...(area.rows.upperBound >> shift) {
                self.collect(GridCell(column: column, row: row), level: GridCell.levels.lowerBound, area, &found)
            }
        }
        return found
    }

    /// Adds the counts of the area's cells in one cell of a lower or the same level.
    private func collect(_ cell: GridCell, level: Int, _ area: CellArea, _ found: inout [GridCell: CellCount]) {
        guard area.touches(cell, level: level), let tally = self.levels[level - GridCell.levels.lowerBound][cell] else {
            return
        }
        if level == area.level {
            found[cell] = self.count(tally)
        } else if tally.count == 1 {
            guard let only = self.only(tally)?.cell?.ancestor(level: area.level), area.contains(only) else { return }
            found[only] = self.count(tally)
        } else {
            for child in cell.children { self.collect(child, level: level + 1, area, &found) }
        }
    }

    /// The trackable in a cell that has only one.
    private func only(_ tally: Tally) -> Member? {
        self.names[Int(tally.numbers)].flatMap { self.members[$0] }
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
        let isSame =
            (former.cell, former.isMoving, former.isStale) == (member.cell, member.isMoving, member.isStale)
        if !isSame { self.remove(former) }
        self.members[id] = member
        if !isSame { self.add(member) }
    }

    private mutating func takeNumber(for id: TrackableID) -> UInt32 {
        if let number = self.free.popLast() {
            self.names[Int(number)] = id
            return number
        }
        self.names.append(id)
        return UInt32(self.names.count - 1)
    }

    /// Adds a trackable to the counters of its cells, down to the first cell in which it is alone.
    private mutating func add(_ member: Member) {
        guard let place = member.cell else { return }
        var other: Member?
        for (index, level) in GridCell.levels.enumerated() {
            let cell = place.ancestor(level: level)
            if let other, let place = other.cell { self.levels[index][place.ancestor(level: level)] = Tally(other) }
            var tally = self.levels[index][cell] ?? Tally()
            // A cell with one trackable has no smaller cells yet.
            other = tally.count == 1 ? self.only(tally) : nil
            tally.add(member)
            self.levels[index][cell] = tally
            if tally.count == 1 { return }
        }
    }

    /// Removes a trackable from the counters of its cells, and the counters of the cells in which another one is alone
    /// from then on.
    private mutating func remove(_ member: Member) {
        guard let place = member.cell else { return }
        var other: Member?
        for (index, level) in GridCell.levels.enumerated() {
            let cell = place.ancestor(level: level)
            if let place = other?.cell {
                let tally = self.levels[index].removeValue(forKey: cell)
                self.levels[index][place.ancestor(level: level)] = nil
                guard tally?.count == 2 else { return }
                continue
            }
            guard var tally = self.levels[index][cell] else { return }
            tally.remove(member)
            self.levels[index][cell] = tally.count == 0 ? nil : tally
            if tally.count == 0 { return }
            if tally.count == 1 { other = self.only(tally) }
        }
    }
}
