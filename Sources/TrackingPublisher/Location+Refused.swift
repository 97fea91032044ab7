import TrackingCore

extension Location {
    /// The fix without the members that readers would reject, and the reason if a member was removed.
    ///
    /// The removed members are the free-form `extra` and an invalid trip id. A fix that had an `extra` or a trip id
    /// also loses its record number, because the trackable gives it another one.
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
    /// A copy of this resolution for a fix that is wanted at once: the same accuracy, no minimum distance, and an
    /// interval of at most one second.
    var atOnce: Resolution {
        // Both are in range.
        try! Resolution(
            accuracy: self.accuracy, desiredInterval: min(self.desiredInterval, .seconds(1)), minimumDisplacement: 0)
    }

    /// A copy of this resolution without a minimum distance, for thinning the fixes of a source. Accuracy and interval
    /// are the same.
    ///
    /// A stationary device still needs a fix at each interval: the fix shows that the device is alive.
    var withoutDisplacement: Resolution? {
        try? Resolution(accuracy: self.accuracy, desiredInterval: self.desiredInterval, minimumDisplacement: 0)
    }
}
