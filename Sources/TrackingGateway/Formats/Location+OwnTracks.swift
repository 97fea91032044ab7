import TrackingCore

extension Location {
    /// Returns the position as an OwnTracks `location` message, marked as republished.
    ///
    /// - Parameters:
    ///   - id: The trackable of the position.
    ///   - bridge: The name of the bridge that republishes the position.
    func ownTracksMessage(of id: TrackableID, by bridge: String) -> JSONValue {
        let letters = String(id.rawValue.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.suffix(2))
        var members: [String: JSONValue] = [
            "_type": .text("location"), "_via": .text(OwnTracksMessage.mark), "_by": .text(bridge),
            "lat": .number(self.coordinate.latitude), "lon": .number(self.coordinate.longitude),
            "tst": .number(self.time.seconds.rounded(.down)), "tid": .text(letters.isEmpty ? "--" : letters),
        ]
        // OwnTracks' apps expect whole numbers. The accuracy is rounded up, so that it never appears better than
        // measured.
        members["acc"] = self.accuracyHorizontal.map { .number($0.rounded(.up)) }
        members["alt"] = self.altitude.map { .number($0.rounded()) }
        members["vac"] = self.accuracyVertical.map { .number($0.rounded(.up)) }
        members["vel"] = self.speed.map { .number(($0 * 3.6).rounded()) }
        members["cog"] = self.bearing.map { .number($0.rounded().truncatingRemainder(dividingBy: 360)) }
        members["batt"] = self.batteryLevel.map { .number(($0 * 100).rounded()) }
        return .object(members)
    }
}
