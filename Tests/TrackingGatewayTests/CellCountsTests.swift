import NIOCore
import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway

/// The counts of trackables in the cells of the map's grid, and the choice between counts and positions.
@Suite struct CellCountsTests {
    private struct Known {
        var place: Coordinate?
        var speed: Double?
        var state = SubscriberState.offline
    }

    private static func place(_ random: inout SplitMix64) -> Coordinate {
        // Half of the places are in one town, so that cells of high levels have several trackables.
        let isNear = Bool.random(using: &random)
        let latitude = isNear ? 52 + Double.random(in: 0...0.02, using: &random) : .random(in: -90...90, using: &random)
        let longitude =
            isNear ? 8 + Double.random(in: 0...0.02, using: &random) : .random(in: -180...180, using: &random)
        return Coordinate(latitude: latitude, longitude: longitude)!
    }

    private static func box(_ random: inout SplitMix64) -> GeoBox {
        let (one, other) = (Self.place(&random), Self.place(&random))
        return GeoBox(
            south: min(one.latitude, other.latitude), west: one.longitude, north: max(one.latitude, other.latitude),
            east: other.longitude)!
    }

    /// Counts the trackables in the cells of an area one by one.
    private static func cells(_ known: [TrackableID: Known], in area: CellArea) -> [GridCell: CellCount] {
        var cells: [GridCell: CellCount] = [:]
        for (id, one) in known {
            guard let place = one.place else { continue }
            let cell = GridCell(place, level: area.level)
            guard area.rows.contains(cell.row), Set(area.columns).contains(cell.column) else { continue }
            var count = cells[cell] ?? CellCount()
            count.only = count.count == 0 ? id : nil
            count.count += 1
            if one.state == .online, (one.speed ?? 0) > 0.5 { count.moving += 1 }
            if one.state == .stale || one.state == .failed { count.stale += 1 }
            cells[cell] = count
        }
        return cells
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>) func countsAreThoseOfAllTrackables(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var counts = CellCounts()
        var known: [TrackableID: Known] = [:]
        for step in 1...2_000 {
            let id = try TrackableID("t\(Int.random(in: 0..<80, using: &random))")
            switch Int.random(in: 0..<12, using: &random) {
            case 0:
                counts.cleared(id)
                known[id]?.place = nil
            case 1:
                counts.forget(id)
                known[id] = nil
            case 2...4:
                let state = SubscriberState.allCases.randomElement(using: &random) ?? .online
                counts.changed(id, to: state)
                known[id, default: Known()].state = state
            default:
                let place = Self.place(&random)
                let speed = [nil, 0, 0.5, 9].randomElement(using: &random) ?? nil
                counts.moved(id, to: place, speed: speed)
                known[id, default: Known()].place = place
                known[id]?.speed = speed
            }
            guard step.isMultiple(of: 250) else { continue }
            for level in GridCell.levels {
                let areas = [CellArea(Self.box(&random), level: level), CellArea(nil, level: level)]
                for area in areas { #expect(counts.cells(in: area) == Self.cells(known, in: area), "step \(step)") }
            }
        }
        for id in known.keys { counts.forget(id) }
        #expect(counts.cells(in: CellArea(nil, level: 6)).isEmpty)
    }

    @Test func anAreaHasTheCellsOfItsPlaces() throws {
        var random = SplitMix64(seed: 9)
        for _ in 0..<500 {
            let (box, place) = (Self.box(&random), Self.place(&random))
            let area = CellArea(box, level: Int.random(in: GridCell.levels, using: &random))
            #expect(area.rows.count <= CellArea.maximumSide && area.columns.count <= CellArea.maximumSide)
            if box.contains(place) { #expect(area.contains(GridCell(place, level: area.level))) }
            let cell = GridCell(place, level: area.level)
            #expect(area.contains(cell) == (area.rows.contains(cell.row) && area.columns.contains(cell.column)))
        }
        let pacific = CellArea(GeoBox(south: -10, west: 179, north: 10, east: -179), level: 8)
        #expect(pacific.level == 8 && pacific.columns == [0, 255])
        #expect(CellArea(nil, level: 17).level == 6 && CellArea(nil, level: 3).columns == Array(0..<8))
        let north = try #require(Coordinate(latitude: 90, longitude: 180))
        #expect(GridCell(north, level: 3) == GridCell(column: 7, row: 0))
    }

    private func cells(_ counts: [Int]) -> [GridCell: CellCount] {
        var cells: [GridCell: CellCount] = [:]
        for (column, number) in counts.enumerated() where number > 0 {
            var count = CellCount()
            count.count = number
            cells[GridCell(column: UInt32(column), row: 1)] = count
        }
        return cells
    }

    @Test func aStreamHasCountsFromManyTrackablesOnUntilThereAreFew() {
        var view = CellView(CellArea(nil, level: 3))
        #expect(view.update(self.cells([1_000, 500])) == .unchanged)
        #expect(view.update(self.cells([1_000, 501])) == .cells(self.cells([1_000, 501]), isComplete: true))
        #expect(view.update(self.cells([1_000, 501])) == .unchanged)
        #expect(view.update(self.cells([1_000, 500, 1])) == .cells(self.cells([0, 500, 1]), isComplete: false))
        var left = self.cells([0, 0, 201])
        left[GridCell(column: 1, row: 1)] = CellCount()
        #expect(view.update(self.cells([1_000, 0, 201])) == .cells(left, isComplete: false))
        #expect(view.update(self.cells([1_000, 0, 199])) == .positions)
        #expect(view.update(self.cells([1_000, 500])) == .unchanged)
        #expect(view.update(self.cells([1_501])) == .cells(self.cells([1_501]), isComplete: true))
    }

    @Test func theEventHasTheCellsInOrder() throws {
        var cells = self.cells([2, 0, 1])
        cells[GridCell(column: 2, row: 1)]?.only = try TrackableID("van \"7\"")
        cells[GridCell(column: 0, row: 1)]?.moving = 1
        let data = #"{"z":3,"complete":false,"cells":[[0,1,2,1,0],[2,1,1,0,0,"van \"7\""]]}"#
        #expect(
            String(buffer: LiveFrame.cells(cells, level: 3, isComplete: false)) == "event: cells\ndata: \(data)\n\n")
        let complete = String(buffer: LiveFrame.cells([:], level: 3, isComplete: true))
        #expect(complete == "id\nevent: cells\ndata: {\"z\":3,\"complete\":true,\"cells\":[]}\n\n")
        #expect(String(buffer: LiveFrame.noCells) == "event: cells\ndata: {\"cells\":null}\n\n")
    }
}
