extension LocationCodec {
    /// Decodes a location update, or a raw update, the message with unfiltered fixes. Optional members that are absent
    /// get their default values.
    ///
    /// The decoder skips unknown members, and unknown values of `mode`, `motion` and `source`. `null` means that a
    /// member is absent. A skipped point, one of the earlier points in the update, gets the stream of `location` if it
    /// names no stream.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decode(_ payload: ArraySlice<UInt8>) throws(TrackingError) -> LocationUpdate {
        try payload.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in try json.update() }
        }
    }

    /// Decodes a location update or a raw update from an array.
    ///
    /// - Throws: The same errors as the form for an `ArraySlice`.
    public static func decode(_ payload: [UInt8]) throws(TrackingError) -> LocationUpdate {
        try self.decode(payload[...])
    }

    /// Decodes one GeoJSON Feature with a Point and returns it as a fix.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decodeFeature(_ bytes: ArraySlice<UInt8>) throws(TrackingError) -> Location {
        try bytes.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in try json.feature(.message) }
        }
    }

    /// Decodes one GeoJSON Feature with a Point from an array, and returns it as a fix.
    ///
    /// - Throws: The same errors as the overload of this function with an `ArraySlice`.
    public static func decodeFeature(_ bytes: [UInt8]) throws(TrackingError) -> Location {
        try self.decodeFeature(bytes[...])
    }

    /// Decodes one GeoJSON Feature, but only if the protocol defines all of its properties.
    ///
    /// - Returns: The fix; `nil` when the Feature has any other property.
    /// - Throws: The same errors as ``decodeFeature(_:)``.
    package static func decodeWholeFeature(_ bytes: ArraySlice<UInt8>) throws(TrackingError) -> Location? {
        try bytes.withUnsafeBufferPointer { bytes throws(TrackingError) in
            try JSONScanner.read(bytes) { json throws(Refusal) in
                var isWhole = true
                let location = try json.feature(.message, isWhole: &isWhole)
                return isWhole ? location : nil
            }
        }
    }

    /// Returns `true` when the coordinates of a GeoJSON Feature have a `null` before another value, as in `[null,
    /// 47.1]`. A ``JSONValue`` omits the `null`, so each value behind it would be taken for the wrong coordinate.
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
        var enhancement: Enhancement?
        try self.beginObject()
        while try self.nextMember() {
            switch self.key {
            case "location": location = try self.feature(.location)
            case "skippedLocations": skipped = try self.points { .skipped($0) }
            case "intermediateLocations": intermediate = try self.points { .intermediate($0) }
            case "type": kind = try self.skipNull() ? .actual : self.choice()
            case "enhanced": enhancement = try self.skipNull() ? nil : self.enhancement()
            default: try self.skipValue()
            }
        }
        guard let location else { throw self.missing("location") }
        for index in skipped.indices where skipped[index].stream == nil { skipped[index].stream = location.stream }
        return LocationUpdate(
            location: location, skipped: skipped, intermediate: intermediate, kind: kind, enhancement: enhancement)
    }

    /// Reads a GeoJSON Feature. Returns `true` when its coordinates have a `null` before another value.
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

    /// Calls `read` for each member of an object. Skips a value that is not an object.
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
