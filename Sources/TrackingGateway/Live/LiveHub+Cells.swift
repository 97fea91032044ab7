import NIOCore
import Synchronization
import TrackingCore
import TrackingRuntime

/// The counts of cells, which live streams with many trackables in their area have instead of positions.
extension LiveHub {
    /// Compares the counts of all live streams with an area of cells every ``CellView/interval``, until the task is
    /// cancelled.
    func runCells() async {
        while !Task.isCancelled {
            await self.clock.sleep(until: self.clock.moment.now.advanced(by: CellView.interval))
            self.deliverCells()
        }
    }

    /// Delivers the changed counts to each live stream with an area of cells. The hub's lock is held for one stream at
    /// a time.
    func deliverCells() {
        for id in self.shared.withLock({ Array($0.views.keys) }) {
            self.shared.withLock { shared in
                if let stream = shared.streams[id] { shared.showCells(of: stream) }
            }
        }
    }
}

extension LiveHub.Shared {
    /// Returns the decision of a new live stream with an area of cells, and its first event `cells`. The event is `nil`
    /// if the stream begins with positions.
    func firstCells(of selection: LiveSelection) -> (view: CellView?, counts: ByteBuffer?) {
        guard let area = selection.area else { return (nil, nil) }
        var view = CellView(area)
        guard case .cells(let cells, _) = view.update(self.state.counts.cells(in: area)) else { return (view, nil) }
        return (view, LiveFrame.cells(cells, level: area.level, isComplete: true))
    }

    /// Delivers the changed counts to a live stream with an area of cells, or switches the stream between counts and
    /// positions. A stream whose client has not read the previous counts is left out.
    mutating func showCells(of stream: LiveStream) {
        guard let area = stream.selection.area, stream.acceptsCells else { return }
        let cells = self.state.counts.cells(in: area)
        switch self.views[stream.id]?.update(cells) {
        case nil, .unchanged: return
        case .positions:
            stream.show(LiveFrame.noCells, then: self.state.snapshot(stream.selection))
            self.open[stream.id] = stream
        case .cells(let cells, let isComplete):
            stream.show(LiveFrame.cells(cells, level: area.level, isComplete: isComplete))
            self.open[stream.id] = nil
        }
    }
}
