import TrackingCore

/// Where a trackable is as far as that may be shown, recorded or not: the places that its events tell.
struct EventPlaces: Hashable, Sendable {
    private var newest: Location?
    private var before: Location?

    /// A fix was captured. It has no name of ours yet; one that its source gave it names nothing here.
    mutating func moved(to shown: Location) {
        var nameless = shown
        (nameless.seq, nameless.stream) = (nil, nil)
        (self.before, self.newest) = (self.newest, nameless)
    }

    /// The newest fix became a record: its place bears the record's name.
    mutating func recorded(_ point: Location) { self.newest = point }

    /// A fix went through the capture.
    mutating func saw(_ outcome: CaptureStateMachine.Outcome) {
        switch outcome.verdict {
        // Where nothing is shown, what was seen before is not where something happens now.
        case .hidden: (self.newest, self.before) = (nil, nil)
        // What nobody measured says nothing of where it is.
        case .mock: break
        case .paused, .filtered: if let shown = outcome.shown { self.moved(to: shown) }
        }
    }

    /// Where something of this kind happened; `nil` where that is not known, or not to be told.
    func place(of kind: TrackingEvent.Kind) -> Location? {
        switch kind {
        // It would tell where the zone's border is.
        case .zone: nil
        // The newest fix is the one that told that it had left.
        case .visit: self.before
        default: self.newest
        }
    }
}
