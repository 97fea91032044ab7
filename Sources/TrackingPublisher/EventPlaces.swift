import TrackingCore

/// The positions that a trackable's tracking events receive as their place. They are the two newest positions, in the
/// form in which they may be shown: a privacy zone may hide or change them.
struct EventPlaces: Hashable, Sendable {
    private var newest: Location?
    private var before: Location?

    /// Stores the position of a newly captured fix as the newest one. The fix is not in the log yet. A number and
    /// stream that its source gave to it are removed.
    mutating func moved(to shown: Location) {
        var nameless = shown
        (nameless.seq, nameless.stream) = (nil, nil)
        (self.before, self.newest) = (self.newest, nameless)
    }

    /// Replaces the newest position by the same position as recorded in the log, with its stream and number.
    mutating func recorded(_ point: Location) { self.newest = point }

    /// Updates the two newest positions after the capture decided not to record a fix. If the fix was dropped only by a
    /// pause of recording or by the capture filter, its position becomes the newest one. If a privacy zone hides
    /// positions entirely now, both positions are removed. A mock position (which no receiver measured) changes
    /// nothing.
    mutating func saw(_ outcome: CaptureStateMachine.Outcome) {
        switch outcome.verdict {
        // While positions are hidden, an earlier position is not the place of a new event.
        case .hidden: (self.newest, self.before) = (nil, nil)
        // A mock position is not the trackable's position.
        case .mock: break
        case .paused, .filtered: if let shown = outcome.shown { self.moved(to: shown) }
        }
    }

    /// Returns the position that an event of this kind receives as its place. An event about a visit receives the
    /// second newest position, an event about a zone none, and every other event the newest position. `nil` when the
    /// position is unknown or must not be shown.
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
