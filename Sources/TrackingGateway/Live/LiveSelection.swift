import NIOCore
package import TrackingCore
import TrackingSubscriber

/// The trackables and positions that one live stream shows, and its caller's permission.
package struct LiveSelection: Hashable, Sendable {
    /// The part of the trackables that a client requested for its live stream: all, certain ones, or those in a
    /// geographic area.
    package enum Wanted: Hashable, Sendable {
        /// The live stream shows all trackables that its caller may read.
        case everything
        /// The live stream shows the given trackables, without those that its caller may not read.
        case these(Set<TrackableID>)
        /// The live stream shows the trackables inside a geographic area. When a trackable leaves the area, its first
        /// position outside is delivered too.
        case box(GeoBox)
    }

    /// The trackables or the geographic area that the client requested for its live stream.
    package var wanted: Wanted
    /// The trackables that the caller of the live stream may read.
    package var reads: TrackableScope
    /// The time span that a share link shows; `nil` for a caller without this limit. Positions of another time are not
    /// delivered. Neither are presence, trips and events, because they may contain other times. Journeys and estimates
    /// are reduced to one stop.
    package var span: Range<UnixTime>?
    /// The id of the stop of the journey whose arrival a share link shows; `nil` for the last stop.
    package var stop: String?
    /// The cells whose counts replace the positions while the area has many trackables; `nil` for a stream that always
    /// has positions.
    package var area: CellArea?

    /// Creates the selection of a live stream from the client's request and the caller's permission.
    package init(_ wanted: Wanted, reads: TrackableScope, span: Range<UnixTime>? = nil, stop: String? = nil) {
        self.wanted = wanted
        self.reads = reads
        self.span = span
        self.stop = stop
    }

    /// The trackables that a live stream shows, if they can be listed by id. `nil` for a stream of a geographic area,
    /// and for a stream of everything whose caller may read every trackable.
    var named: Set<TrackableID>? {
        switch (self.wanted, self.reads) {
        case (.these(let ids), _): ids.filter { self.reads.contains($0) }
        case (.everything, .only(let ids)): ids
        case (.everything, .all), (.box, _): nil
        }
    }

    /// Returns `true` if the live stream delivers this update: the caller may receive it, and the client selected its
    /// trackable. In a stream of a geographic area, the trackable's place before or after the update must be inside the
    /// area.
    func wants(_ update: LiveUpdate) -> Bool {
        guard self.mayDeliver(update) else { return false }
        switch self.wanted {
        case .everything: return true
        case .these(let ids): return ids.contains(update.trackable)
        case .box(let box):
            return [update.place, update.placeBefore].contains { place in place.map(box.contains) ?? false }
        }
    }

    /// Returns `true` if the caller may receive this update. The check covers the caller's trackables and time span,
    /// not the stream's geographic area.
    func mayDeliver(_ update: LiveUpdate) -> Bool { self.reads.contains(update.trackable) && self.isInSpan(update) }

    /// Returns `true` if this update moves its trackable into the stream's geographic area: the new position is inside,
    /// and the previous one was outside or unknown. Returns `false` for a late position, and for a stream without an
    /// area.
    func isEntered(by update: LiveUpdate) -> Bool {
        guard case .box(let box) = self.wanted, update.kind == .position, !update.isLate,
            let place = update.place, box.contains(place)
        else { return false }
        return update.placeBefore.map { !box.contains($0) } ?? true
    }

    /// Returns `true` if the live stream shows this recorded point: its time is within the time span of the share link,
    /// and its place is within the stream's geographic area. Each condition applies only to a stream that has such a
    /// limit.
    func wants(_ point: Location) -> Bool {
        if let span = self.span, !span.contains(point.time) { return false }
        if case .box(let box) = self.wanted { return box.contains(point.coordinate) }
        return true
    }

    /// Returns the bytes of an update for this stream.
    ///
    /// For a share link, the bytes contain less, and an update of a journey is an event `estimate` about one stop. A position has only the values of ``shown(_:)``, its road, and the way
    /// to it within the time span of the link, without the earlier points that the position's message otherwise contains.
    /// A resolution has only the members of ``/TrackingCore/JSONValue/sharedResolution(_:stop:)``.
    func frame(of update: LiveUpdate) -> ByteBuffer {
        guard let span = self.span else { return update.frame }
        let event = update.hasID ? update.id : nil
        if update.kind == .resolution {
            let progress = update.progress ?? JourneyProgress()
            let shared = (try? JSONValue(json: update.payload))?.sharedResolution(progress, stop: self.stop)
            return LiveFrame.event(.resolution, of: update.trackable, shared?.json, as: event)
        }
        if update.kind.isOfJourney {
            let shared = update.progress.flatMap { SharedEstimate($0, stop: self.stop, during: span) }
            return LiveFrame.journey(.estimate, of: update.trackable, shared?.json, as: event)
        }
        guard let location = update.location else { return update.frame }
        let sent = try? LocationCodec.decode(update.payload)
        let way = (sent?.intermediate ?? []).filter { span.contains($0.time) }.map { self.shown($0) }
        let shared = LocationUpdate(
            location: self.shown(location), intermediate: way, kind: sent?.kind ?? .actual,
            enhancement: update.enhancement?.shared)
        let bare = ReceivedUpdate(update: shared, skipped: [], isLate: update.isLate, isRetained: false)
        return LiveFrame.position(bare, of: update.trackable, as: update.id) ?? ByteBuffer()
    }

    /// Returns a point with the values that this stream may show: all of them, or for a share link all except the
    /// battery level, the trip and the phone's additional values.
    func shown(_ point: Location) -> Location { self.span == nil ? point : point.shared }

    private func isInSpan(_ update: LiveUpdate) -> Bool {
        guard let span = self.span else { return true }
        switch update.kind {
        case .position: return update.location.map { span.contains($0.time) } ?? true
        case .state, .resolution, .clock, .journey, .estimate: return true
        case .presence, .trip, .event: return false
        }
    }
}
