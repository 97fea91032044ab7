import TrackingCore

extension Location {
    /// What a share link shows of it: where and when it was, and how it moved. Not what a phone says beside that (its network,
    /// its id, its battery), and not the trip, which may have begun before the link.
    var shared: Location {
        var location = self
        location.extra = nil
        location.batteryLevel = nil
        location.tripID = nil
        return location
    }
}

extension JSONValue {
    /// What a share link shows of a resolution in force: when the next position is due. Not why: who else watches, the battery, and
    /// whether it is near where it goes.
    var sharedResolution: JSONValue {
        .object((self.object ?? [:]).filter { ["resolution", "maximumSilence"].contains($0.key) })
    }
}
