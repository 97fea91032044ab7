extension LocationCodec {
    /// Reads a location update or a raw update; members of the one that are missing in the other get their defaults.
    ///
    /// Members that are not known are passed over, and so are `mode`, `motion` and `source` values that are not known;
    /// `null` stands for a member that is absent. Skipped points get the stream of `location` where they name none.
    ///
    /// - Throws: `invalidPayload` that names the member, or `payloadTooLarge`.
    public static func decode(_ payload: ArraySlice<UInt8>) throws(TrackingError) -> LocationUpdate {
        try payload.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in try json.update() }
        }
    }

    /// Reads a location update or a raw update, as the other form does.
    public static func decode(_ payload: [UInt8]) throws(TrackingError) -> LocationUpdate {
        try self.decode(payload[...])
    }

    /// Reads one GeoJSON Feature.
    ///
    /// - Throws: `invalidPayload` that names the member, or `payloadTooLarge`.
    public static func decodeFeature(_ bytes: ArraySlice<UInt8>) throws(TrackingError) -> Location {
        try bytes.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in try json.feature(.message) }
        }
    }

    /// Reads one GeoJSON Feature, as the other form does.
    public static func decodeFeature(_ bytes: [UInt8]) throws(TrackingError) -> Location {
        try self.decodeFeature(bytes[...])
    }

    /// Reads one GeoJSON Feature all of whose properties are the protocol's own.
    ///
    /// - Returns: `nil` where one is not, which ``decodeFeature(_:)`` would pass over.
    /// - Throws: as ``decodeFeature(_:)`` does.
    package static func decodeWholeFeature(_ bytes: ArraySlice<UInt8>) throws(TrackingError) -> Location? {
        try bytes.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in
                var isWhole = true
                let location = try json.feature(.message, isWhole: &isWhole)
                return isWhole ? location : nil
            }
        }
    }

    /// Whether a `null` stands before a coordinate of a GeoJSON Feature. A ``JSONValue`` leaves it out, and the coordinate would
    /// stand in its place.
    package static func hasNullCoordinate(_ bytes: ArraySlice<UInt8>) -> Bool {
        let hasNull = try? bytes.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in try json.hasNullCoordinate() }
        }
        return hasNull ?? false
    }
}

extension JSONScanner {
    fileprivate mutating func update() throws(Refusal) -> LocationUpdate {
        var location: Location?
        var skipped: [Location] = []
        var intermediate: [Location] = []
        var kind = LocationUpdate.Kind.actual
        try self.beginObject()
        while try self.nextMember() {
            switch self.key {
            case "location": location = try self.feature(.location)
            case "skippedLocations": skipped = try self.points { .skipped($0) }
            case "intermediateLocations": intermediate = try self.points { .intermediate($0) }
            case "type": kind = try self.skipNull() ? .actual : self.choice()
            default: try self.skipValue()
            }
        }
        guard let location else { throw self.missing("location") }
        for index in skipped.indices where skipped[index].stream == nil { skipped[index].stream = location.stream }
        return LocationUpdate(location: location, skipped: skipped, intermediate: intermediate, kind: kind)
    }

    /// Passes over a Feature.
    fileprivate mutating func hasNullCoordinate() throws(Refusal) -> Bool {
        var hasNull = false
        try self.eachMember { json throws(Refusal) in
            guard "geometry" ~= json.key else { return try json.skipValue() }
            try json.eachMember { json throws(Refusal) in
                guard "coordinates" ~= json.key, json.peek() == UInt8(ascii: "[") else { return try json.skipValue() }
                var isBehindNull = false
                try json.beginArray()
                while try json.nextElement() {
                    if try json.skipNull() {
                        isBehindNull = true
                    } else {
                        try json.skipValue()
                        hasNull = hasNull || isBehindNull
                    }
                }
            }
        }
        return hasNull
    }

    /// Reads the members of an object; passes over whatever else stands there.
    private mutating func eachMember(
        _ read: (inout JSONScanner) throws(Refusal) -> Void
    ) throws(Refusal) {
        guard self.peek() == UInt8(ascii: "{") else { return try self.skipValue() }
        try self.beginObject()
        while try self.nextMember() { try read(&self) }
    }

    private mutating func points(_ root: (Int) -> WireRoot) throws(Refusal) -> [Location] {
        var points: [Location] = []
        if try self.skipNull() { return points }
        try self.beginArray()
        while try self.nextElement() {
            self.root = root(points.count)
            self.key = .empty
            guard points.count < WireLimits.maximumPointsRead else {
                throw self.mismatch("one of at most \(WireLimits.maximumPointsRead) points", found: "one more")
            }
            points.append(try self.feature(self.root))
        }
        return points
    }
}
