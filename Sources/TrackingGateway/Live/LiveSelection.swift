import NIOCore
package import TrackingCore
import TrackingSubscriber

/// The trackables and positions that one live stream shows, and its caller's permission.
package struct LiveSelection: Hashable, Sendable {
    /// The trackables or the geographic area that the client requested.
    package enum Wanted: Hashable, Sendable {
        /// All trackables that the caller may read.
        case everything
        /// The given trackables.
        case these(Set<TrackableID>)
        /// All trackables inside a geographic area. The update with which a trackable leaves the area is delivered as
        /// well.
        case box(GeoBox)
    }

    /// The trackables or the geographic area that the client requested.
    package var wanted: Wanted
    /// The trackables that the caller may read.
    package var reads: TrackableScope
    /// The time span that a share link shows; `nil` for no limit. Positions outside of it, and updates that reveal
    /// another time, are not delivered.
    package var span: Range<UnixTime>?

    /// Creates the selection of a live stream.
    package init(_ wanted: Wanted, reads: TrackableScope, span: Range<UnixTime>? = nil) {
        self.wanted = wanted
        self.reads = reads
        self.span = span
    }

    /// The trackables that the selection names; `nil` if it names none: everything, or a geographic area.
    var named: Set<TrackableID>? {
        switch (self.wanted, self.reads) {
        case (.these(let ids), _): ids.filter { self.reads.contains($0) }
        case (.everything, .only(let ids)): ids
        case (.everything, .all), (.box, _): nil
        }
    }

    /// Returns `true` if the live stream delivers this update.
    func wants(_ update: LiveUpdate) -> Bool {
        guard self.mayDeliver(update) else { return false }
        switch self.wanted {
        case .everything: return true
        case .these(let ids): return ids.contains(update.trackable)
        case .box(let box):
            return [update.place, update.placeBefore].contains { place in place.map(box.contains) ?? false }
        }
    }

    /// Returns `true` if the caller may receive this update, whatever its place.
    func mayDeliver(_ update: LiveUpdate) -> Bool { self.reads.contains(update.trackable) && self.isInSpan(update) }

    /// Returns `true` if the trackable enters the stream's geographic area with this position.
    func isEntered(by update: LiveUpdate) -> Bool {
        guard case .box(let box) = self.wanted, update.kind == .position, !update.isLate,
            let place = update.place, box.contains(place)
        else { return false }
        return update.placeBefore.map { !box.contains($0) } ?? true
    }

    /// Returns `true` if the live stream shows this recorded point.
    func wants(_ point: Location) -> Bool {
        if let span = self.span, !span.contains(point.time) { return false }
        if case .box(let box) = self.wanted { return box.contains(point.coordinate) }
        return true
    }

    /// Returns the bytes of an update for this stream. For a share link, a position is reduced to ``shown(_:)`` without
    /// skipped points, and a resolution to the members that give the time of the next position.
    func frame(of update: LiveUpdate) -> ByteBuffer {
        guard self.span != nil else { return update.frame }
        if update.kind == .resolution {
            let shared = (try? JSONValue(json: update.payload))?.sharedResolution.json
            return LiveFrame.event(.resolution, of: update.trackable, shared, as: update.hasID ? update.id : nil)
        }
        guard let location = update.location else { return update.frame }
        let kind = (try? LocationCodec.decode(update.payload))?.kind ?? .actual
        let bare = ReceivedUpdate(
            update: LocationUpdate(location: self.shown(location), kind: kind), skipped: [], isLate: update.isLate,
            isRetained: false)
        return LiveFrame.position(bare, of: update.trackable, as: update.id) ?? ByteBuffer()
    }

    /// Returns a point as this stream may show it: complete, or reduced for a share link.
    func shown(_ point: Location) -> Location { self.span == nil ? point : point.shared }

    private func isInSpan(_ update: LiveUpdate) -> Bool {
        guard let span = self.span else { return true }
        switch update.kind {
        case .position: return update.location.map { span.contains($0.time) } ?? true
        case .state, .resolution, .clock: return true
        case .presence, .trip, .event: return false
        }
    }
}
