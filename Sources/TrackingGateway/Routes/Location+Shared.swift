import TrackingCore

extension Location {
    /// The part of a position that a share link shows: place, time and movement. It omits the phone's other values
    /// (network, id, battery), and the trip, which may have begun before the link's validity.
    var shared: Location {
        var location = self
        location.extra = nil
        location.batteryLevel = nil
        location.tripID = nil
        return location
    }
}

extension JSONValue {
    /// The part of a resolution in force that a share link shows: the resolution and the maximum silence. It omits the
    /// reasons for the resolution: other subscribers, the battery, and the proximity to the destination.
    var sharedResolution: JSONValue {
        .object((self.object ?? [:]).filter { ["resolution", "maximumSilence"].contains($0.key) })
    }
}
