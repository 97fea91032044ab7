import TrackingCore

/// The last recorded position of one trackable, and the positions that its events contain.
struct LastPosition: Sendable {
    /// The last fix that was recorded.
    private(set) var fix: Location?
    private var places = EventPlaces()

    /// Returns the position that an event of this kind contains; `nil` for none.
    func place(of kind: TrackingEvent.Kind) -> Location? { self.places.place(of: kind) }

    /// Handles that the capture examined a fix.
    mutating func examined(_ outcome: CaptureStateMachine.Outcome) { self.places.saw(outcome) }

    /// Handles a fix that no capture examines.
    mutating func moved(to fix: Location) { self.places.moved(to: fix) }

    /// Handles that a fix was recorded.
    mutating func recorded(_ point: Location) {
        self.fix = point
        self.places.recorded(point)
    }

    /// Handles a recorded point of another system, which no capture examined.
    mutating func ingested(_ point: Location) {
        self.moved(to: point)
        self.recorded(point)
    }

    /// Replaces the last recorded fix by the result of `shown`; `nil` forgets the fix.
    mutating func hide(_ shown: (Location) -> Location?) { self.fix = self.fix.flatMap(shown) }

    /// Forgets the last position and the positions for events, unless the last position is newer than `watermark`. With
    /// `nil`, they are always forgotten.
    mutating func forget(through watermark: Location?) {
        guard self.fix?.came(after: watermark) != true else { return }
        self = LastPosition()
    }
}
