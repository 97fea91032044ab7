import TrackingCore

/// The last recorded position of one trackable, and the positions that its events contain.
struct LastPosition: Sendable {
    /// The last fix of the trackable that was recorded in the log; `nil` before the first one, and after it was
    /// forgotten.
    private(set) var fix: Location?
    private var places = EventPlaces()

    /// Returns the position that an event of this kind contains, one of the remembered positions; `nil` if it contains
    /// none.
    func place(of kind: TrackingEvent.Kind) -> Location? { self.places.place(of: kind) }

    /// Handles that the capture examined a fix: its position, if it may be shown, becomes the newest one for events.
    mutating func examined(_ outcome: CaptureStateMachine.Outcome) { self.places.saw(outcome) }

    /// Remembers the position of a fix for events, when the publisher has no capture that examines fixes.
    mutating func moved(to fix: Location) { self.places.moved(to: fix) }

    /// Remembers a fix that was recorded in the log, as the trackable's last position and as a position for its events.
    mutating func recorded(_ point: Location) {
        self.fix = point
        self.places.recorded(point)
    }

    /// Remembers a new point from another system that supplies the trackable's records, as the last position and as a
    /// position for events. No capture examined the point.
    mutating func ingested(_ point: Location) {
        self.moved(to: point)
        self.recorded(point)
    }

    /// Applies the privacy zones to the last recorded fix. The fix that `shown` returns for it takes its place. If
    /// `shown` returns `nil`, the last fix is forgotten.
    mutating func hide(_ shown: (Location) -> Location?) { self.fix = self.fix.flatMap(shown) }

    /// Forgets the last recorded position and the positions for events, unless the last recorded position is newer than
    /// the position `watermark`. With `nil`, they are always forgotten.
    mutating func forget(through watermark: Location?) {
        guard self.fix?.came(after: watermark) != true else { return }
        self = LastPosition()
    }
}
