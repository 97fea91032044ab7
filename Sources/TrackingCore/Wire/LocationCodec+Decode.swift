extension LocationCodec {
    /// Reads a location update or a raw update; members of the one that are missing in the other get their defaults.
    ///
    /// Members that are not known are passed over, and so are `mode`, `motion` and `source` values that are not known;
    /// `null` stands for a member that is absent. Skipped points get the stream of `location` where they name none.
    ///
    /// - Throws: `invalidPayload` that names the member, or `payloadTooLarge`.
    public static func decode(_ payload: ArraySlice<UInt8>) throws(TrackingError) -> LocationUpdate {
        var scanner = try JSONScanner(payload: payload)
        var location: Location?
        var skipped: [Location] = []
        var intermediate: [Location] = []
        var kind = LocationUpdate.Kind.actual
        try scanner.beginObject(WirePath(.message))
        while try scanner.nextMember() {
            switch scanner.key {
            case "location": location = try scanner.feature(.location)
            case "skippedLocations":
                skipped = try scanner.points("skippedLocations") { .skipped($0) }
            case "intermediateLocations":
                intermediate = try scanner.points("intermediateLocations") { .intermediate($0) }
            case "type": kind = try scanner.skipNull() ? .actual : scanner.choice(WirePath(.message, "type"))
            default: try scanner.skipValue()
            }
        }
        try scanner.end()
        guard let location else { throw TrackingError(.invalidPayload, "location is missing") }
        for index in skipped.indices where skipped[index].stream == nil { skipped[index].stream = location.stream }
        return LocationUpdate(location: location, skipped: skipped, intermediate: intermediate, kind: kind)
    }

    /// Reads a location update or a raw update, as the other form does.
    public static func decode(_ payload: [UInt8]) throws(TrackingError) -> LocationUpdate {
        try self.decode(payload[...])
    }

    /// Reads one GeoJSON Feature.
    ///
    /// - Throws: `invalidPayload` that names the member, or `payloadTooLarge`.
    public static func decodeFeature(_ bytes: ArraySlice<UInt8>) throws(TrackingError) -> Location {
        var scanner = try JSONScanner(payload: bytes)
        let location = try scanner.feature(.message)
        try scanner.end()
        return location
    }

    /// Reads one GeoJSON Feature, as the other form does.
    public static func decodeFeature(_ bytes: [UInt8]) throws(TrackingError) -> Location {
        try self.decodeFeature(bytes[...])
    }
}

extension JSONScanner {
    fileprivate mutating func points(
        _ name: StaticString, _ root: (Int) -> WirePath.Root
    ) throws(TrackingError) -> [Location] {
        var points: [Location] = []
        if try self.skipNull() { return points }
        try self.beginArray(WirePath(.message, name))
        while try self.nextElement() {
            guard points.count < WireLimits.maximumPointsRead else {
                throw TrackingError(
                    .invalidPayload, "\(name) must have at most \(WireLimits.maximumPointsRead) points; found more")
            }
            points.append(try self.feature(root(points.count)))
        }
        return points
    }
}
