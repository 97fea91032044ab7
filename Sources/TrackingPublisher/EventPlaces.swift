import TrackingCore

/// The places of a trackable's events: its newest positions in the form in which they may be shown.
struct EventPlaces: Hashable, Sendable {
    private var newest: Location?
    private var before: Location?

    /// Adds a captured fix. The fix has no record name yet, and a name from its source is removed.
    mutating func moved(to shown: Location) {
        var nameless = shown
        (nameless.seq, nameless.stream) = (nil, nil)
        (self.before, self.newest) = (self.newest, nameless)
    }

    /// The newest fix was recorded, and its place now has the record's name.
    mutating func recorded(_ point: Location) { self.newest = point }

    /// Processes the capture's verdict on a fix.
    mutating func saw(_ outcome: CaptureStateMachine.Outcome) {
        switch outcome.verdict {
        // While positions are hidden, an earlier position is not the place of a new event.
        case .hidden: (self.newest, self.before) = (nil, nil)
        // A mock position is not the trackable's position.
        case .mock: break
        case .paused, .filtered: if let shown = outcome.shown { self.moved(to: shown) }
        }
    }

    /// Returns the place of an event of this kind; `nil` when the place is unknown or must not be shown.
    func place(of kind: TrackingEvent.Kind) -> Location? {
        switch kind {
        // The place would reveal the border of the zone.
        case .zone: nil
        // The newest fix is the first one after the trackable had left.
        case .visit: self.before
        default: self.newest
        }
    }
}
