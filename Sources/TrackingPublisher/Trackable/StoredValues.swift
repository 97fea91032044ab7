import TrackingCore

/// The named values that the device's log stores for one trackable, beside its records.
struct StoredValues: Hashable, Sendable {
    /// The prefixes of the names under which the log stores one trackable's values. A name consists of the prefix and
    /// the trackable's id.
    enum Key: String, CaseIterable {
        /// The prefix for the state of the trackable's present trip, the one that has not ended.
        case trip = "trip/"
        /// The prefix for the state of the trackable's low-battery detection.
        case lowBattery = "battery/"
        /// The prefix for the times of the newest published records, if another system supplies the trackable's
        /// records.
        case watermarks = "told/"
        /// The prefix for the end of a trip that the broker has not acknowledged, of a trackable that is no longer
        /// tracked.
        case departure = "departed/"

        /// Returns the name under which the log stores this value of a trackable: the prefix with the trackable's id.
        func of(_ id: TrackableID) -> String { self.rawValue + id.topicLevel }

        /// Returns the output that stores this value of a trackable in the log; `nil` deletes the value.
        func keep(_ value: [UInt8]?, of id: TrackableID) -> TrackableStateMachine.Output {
            .log(.keep(self.of(id), value))
        }
    }

    /// The encoded trip that had not ended when the program or the tracking ended.
    var trip: [UInt8]?
    /// The encoded state of the low-battery detection for the trackable; `nil` if there is none.
    var lowBattery: [UInt8]?
    /// The encoded watermarks of a trackable whose records another system supplies: the times of its newest published
    /// point, event and trip. `nil` if no other system has supplied its records.
    var watermarks: [UInt8]?
}

extension StoredValues.Key {
    /// Returns the ids of the trackables that have a stored value with this prefix, and the value of each.
    func values(in stored: [String: [UInt8]]) -> [(id: TrackableID, value: [UInt8])] {
        stored.compactMap { name, value in
            guard name.hasPrefix(self.rawValue) else { return nil }
            return TrackableID(topicLevel: name.dropFirst(self.rawValue.count)).map { ($0, value) }
        }
    }
}
