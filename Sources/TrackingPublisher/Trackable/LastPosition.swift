import TrackingCore

/// The last recorded position of one trackable, and the positions that its events contain.
struct LastPosition: Sendable {
    /// The last fix that was recorded.
    var fix: Location?
    /// The positions that the trackable's next events contain.
    var places = EventPlaces()

    /// Forgets the position, unless it is newer than `watermark`.
    mutating func forget(through watermark: Location?) {
        guard self.fix?.came(after: watermark) != true else { return }
        self = LastPosition()
    }
}
