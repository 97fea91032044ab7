import TrackingCore

extension Location {
    /// The fix without an `extra` and an id of a trip that readers refuse, and the reason where one was removed. With
    /// them, the position and every update that has it as a skipped point would never be published live.
    var withoutRefusedMembers: (fix: Location, refusal: TrackingError?) {
        guard self.extra != nil || self.tripID != nil else { return (self, nil) }
        var fix = self
        // The trackable gives it another number.
        fix.seq = nil
        do throws(TrackingError) {
            _ = try LocationCodec.encode(LocationUpdate(location: fix))
            return (fix, nil)
        } catch {
            fix.extra = nil
            if fix.tripID?.isTripID == false { fix.tripID = nil }
            return (fix, error)
        }
    }
}

extension Resolution {
    /// The same accuracy, as soon as possible.
    var atOnce: Resolution {
        // Both are in range.
        try! Resolution(
            accuracy: self.accuracy, desiredInterval: min(self.desiredInterval, .seconds(1)), minimumDisplacement: 0)
    }

    /// The same accuracy and interval without a distance: the update filter needs each fix to show that the device is
    /// alive.
    var withoutDisplacement: Resolution? {
        try? Resolution(accuracy: self.accuracy, desiredInterval: self.desiredInterval, minimumDisplacement: 0)
    }
}
