import TrackingCore

/// The last recorded position of one trackable, and the positions that its events contain.
struct LastPosition: Sendable {
    /// The last fix that was recorded.
    var fix: Location?
    /// The positions that the trackable's next events contain.
    var places = EventPlaces()

    /// Forgets the last position and the positions for events, unless the last position is newer than `watermark`. With
    /// `nil`, they are always forgotten.
    mutating func forget(through watermark: Location?) {
        guard self.fix?.came(after: watermark) != true else { return }
        self = LastPosition()
    }
}
