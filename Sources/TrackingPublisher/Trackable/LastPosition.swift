import TrackingCore

/// The last known position of one trackable.
struct LastPosition: Sendable {
    /// The last fix that was recorded.
    var fix: Location?
    /// The places of its events.
    var places = EventPlaces()

    /// Forgets the position unless it came after `watermark`.
    mutating func forget(through watermark: Location?) {
        guard self.fix?.came(after: watermark) != true else { return }
        self = LastPosition()
    }
}
