import TrackingCore

/// The values that the log keeps for one trackable beside its records.
struct StoredValues: Hashable, Sendable {
    /// The keys of these values in the log, each followed by the trackable's topic level.
    enum Key: String, CaseIterable {
        /// The trip under way.
        case trip = "trip/"
        /// The low battery that was reported.
        case lowBattery = "battery/"
        /// The watermarks of a remote source.
        case watermarks = "told/"
        /// The end of a trip that the broker has not acknowledged.
        case departure = "departed/"

        /// The key of a trackable's value.
        func of(_ id: TrackableID) -> String { self.rawValue + id.topicLevel }
    }

    /// The trip under way when the trackable stopped being tracked.
    var trip: [UInt8]?
    /// The low battery that was reported last.
    var lowBattery: [UInt8]?
    /// The watermarks of a remote source.
    var watermarks: [UInt8]?
}

extension StoredValues.Key {
    /// Returns the trackables with a value under this key, and the value of each.
    func values(in stored: [String: [UInt8]]) -> [(id: TrackableID, value: [UInt8])] {
        stored.compactMap { name, value in
            guard name.hasPrefix(self.rawValue) else { return nil }
            return TrackableID(topicLevel: name.dropFirst(self.rawValue.count)).map { ($0, value) }
        }
    }
}
