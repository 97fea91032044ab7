import NIOCore
package import TrackingCore
import TrackingSubscriber

/// What one live stream is about.
package struct LiveSelection: Hashable, Sendable {
    /// What was asked for.
    package enum Wanted: Hashable, Sendable {
        /// Everything that may be read.
        case everything
        /// These trackables.
        case these(Set<TrackableID>)
        /// Whatever is inside, and whatever leaves it, once.
        case box(GeoBox)
    }

    /// What was asked for.
    package var wanted: Wanted
    /// What may be read.
    package var reads: TrackableScope
    /// A share link's span: no position from before or after is told, and nothing that tells of another time.
    package var span: Range<UnixTime>?

    /// Makes a selection.
    package init(_ wanted: Wanted, reads: TrackableScope, span: Range<UnixTime>? = nil) {
        self.wanted = wanted
        self.reads = reads
        self.span = span
    }

    /// The trackables that it names; `nil` where it is open.
    var named: Set<TrackableID>? {
        switch (self.wanted, self.reads) {
        case (.these(let ids), _): ids.filter { self.reads.contains($0) }
        case (.everything, .only(let ids)): ids
        case (.everything, .all), (.box, _): nil
        }
    }

    /// Whether an update is told.
    func wants(_ update: LiveUpdate) -> Bool {
        guard self.mayTell(update) else { return false }
        switch self.wanted {
        case .everything: return true
        case .these(let ids): return ids.contains(update.trackable)
        case .box(let box):
            return [update.place, update.placeBefore].contains { place in place.map(box.contains) ?? false }
        }
    }

    /// Whether an update may be told, wherever it is.
    func mayTell(_ update: LiveUpdate) -> Bool { self.reads.contains(update.trackable) && self.isInSpan(update) }

    /// Whether a trackable comes into the box with this position.
    func isEntered(by update: LiveUpdate) -> Bool {
        guard case .box(let box) = self.wanted, update.kind == .position, !update.isLate,
            let place = update.place, box.contains(place)
        else { return false }
        return update.placeBefore.map { !box.contains($0) } ?? true
    }

    /// Whether a recorded point is told.
    func wants(_ point: Location) -> Bool {
        if let span = self.span, !span.contains(point.time) { return false }
        if case .box(let box) = self.wanted { return box.contains(point.coordinate) }
        return true
    }

    /// An update as it goes out: within a span no more than is ``shown(_:)``, without what was skipped, which may be from before,
    /// and of the resolution what tells when the next position is due.
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

    /// What is told of a point.
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
