extension JSONScanner {
    /// Reads a GeoJSON Feature whose geometry is a Point.
    mutating func feature(_ root: WirePath.Root) throws(TrackingError) -> Location {
        var draft = FeatureDraft()
        try self.beginObject(WirePath(root))
        while try self.nextMember() {
            switch self.key {
            case "type":
                try self.constant(WirePath(root, "type"), "Feature")
                draft.isFeature = true
            case "geometry": try self.geometry(root, &draft)
            case "properties": if try !self.skipNull() { try self.properties(root, &draft) }
            default: try self.skipValue()
            }
        }
        return try draft.location(root)
    }

    private mutating func geometry(_ root: WirePath.Root, _ draft: inout FeatureDraft) throws(TrackingError) {
        var isPoint = false
        try self.beginObject(WirePath(root, "geometry"))
        while try self.nextMember() {
            switch self.key {
            case "type":
                try self.constant(WirePath(root, "geometry.type"), "Point")
                isPoint = true
            case "coordinates": try self.coordinates(WirePath(root, "geometry.coordinates"), &draft)
            default: try self.skipValue()
            }
        }
        guard isPoint else { throw .missing(WirePath(root, "geometry.type")) }
    }

    private mutating func coordinates(_ path: WirePath, _ draft: inout FeatureDraft) throws(TrackingError) {
        var longitude = 0.0
        var latitude: Double?
        var altitude: Double?
        var count = 0
        try self.beginArray(path)
        while try self.nextElement() {
            switch count {
            case 0: longitude = try self.number(path, .longitude)
            case 1: latitude = try self.number(path, .latitude)
            case 2: altitude = try self.optionalNumber(path, .finite)
            default: _ = try self.number(path, .finite)  // RFC 7946 lets readers ignore more
            }
            count += 1
        }
        guard let latitude, let coordinate = Coordinate(latitude: latitude, longitude: longitude) else {
            throw TrackingError(
                .invalidPayload, "\(path.text) must be [longitude, latitude] or one number more; found \(count)")
        }
        draft.fix.coordinate = coordinate
        draft.fix.altitude = altitude
        draft.hasCoordinate = true
    }

    private mutating func properties(_ root: WirePath.Root, _ draft: inout FeatureDraft) throws(TrackingError) {
        try self.beginObject(WirePath(root, "properties"))
        while try self.nextMember() {
            switch self.key {
            case "time":
                let time = try self.optionalNumber(WirePath(root, "properties.time"), .time)
                draft.fix.time = UnixTime(time ?? 0)
                draft.hasTime = time != nil
            case "accuracyHorizontal":
                draft.fix.accuracyHorizontal = try self.optionalNumber(
                    WirePath(root, "properties.accuracyHorizontal"), .notNegative)
            case "accuracyVertical":
                draft.fix.accuracyVertical = try self.optionalNumber(
                    WirePath(root, "properties.accuracyVertical"), .notNegative)
            case "bearing":
                let bearing = try self.optionalNumber(WirePath(root, "properties.bearing"), .bearing)
                draft.fix.bearing = bearing == 360 ? 0 : bearing
            case "accuracyBearing":
                draft.fix.accuracyBearing = try self.optionalNumber(
                    WirePath(root, "properties.accuracyBearing"), .notNegative)
            case "speed":
                draft.fix.speed = try self.optionalNumber(WirePath(root, "properties.speed"), .notNegative)
            case "accuracySpeed":
                draft.fix.accuracySpeed = try self.optionalNumber(
                    WirePath(root, "properties.accuracySpeed"), .notNegative)
            case "batteryLevel":
                draft.fix.batteryLevel = try self.optionalNumber(WirePath(root, "properties.batteryLevel"), .fraction)
            default: try self.label(root, &draft.fix)
            }
        }
    }

    /// Reads a property that is not a measured number.
    private mutating func label(_ root: WirePath.Root, _ fix: inout Location) throws(TrackingError) {
        switch self.key {
        case "floor":
            let path = WirePath(root, "properties.floor")
            fix.floor = try self.skipNull() ? nil : self.integer(path, -WireLimits.greatest...WireLimits.greatest)
        case "seq":
            let path = WirePath(root, "properties.seq")
            fix.seq = try self.skipNull() ? nil : UInt64(self.integer(path, 1...WireLimits.greatest))
        case "stream":
            let path = WirePath(root, "properties.stream")
            fix.stream = try self.skipNull() ? nil : self.text(path, "a string of 1 to 64 bytes", StreamID.init)
        case "mode":
            fix.mode = try self.optionalText(WirePath(root, "properties.mode")).flatMap(TrackingMode.init)
        case "motion": fix.motion = try self.motion(WirePath(root, "properties.motion"))
        case "tripId": fix.tripID = try self.optionalText(WirePath(root, "properties.tripId"))
        case "source":
            fix.source = try self.optionalText(WirePath(root, "properties.source")).flatMap(SourceKind.init)
        case "extra": fix.extra = try self.extra(WirePath(root, "properties.extra"))
        default: try self.skipValue()
        }
    }

    private mutating func motion(_ path: WirePath) throws(TrackingError) -> [Motion] {
        var words: [Motion] = []
        if try self.skipNull() { return words }
        try self.beginArray(path)
        while try self.nextElement() {
            if let word = Motion(rawValue: try self.text(path)) { words.append(word) }
        }
        return words
    }

    /// Passes over an object, checking its grammar, and returns its bytes as they came.
    private mutating func extra(_ path: WirePath) throws(TrackingError) -> [UInt8]? {
        if try self.skipNull() { return nil }
        guard self.peek() == UInt8(ascii: "{") else { throw self.mismatch(path, "an object") }
        let start = self.index
        let depth = self.remainingDepth
        self.remainingDepth = WireLimits.maximumExtraDepth
        try self.skipValue()
        self.remainingDepth = depth
        guard self.index - start <= Location.maximumExtraBytes else {
            throw TrackingError(
                .invalidPayload,
                "\(path.text) must have at most \(Location.maximumExtraBytes) bytes; found \(self.index - start)")
        }
        return Array(self.bytes[start..<self.index])
    }

    private mutating func constant(_ path: WirePath, _ word: StaticString) throws(TrackingError) {
        _ = self.peek()
        let start = self.index
        guard try self.text(path) == word.description else {
            self.index = start
            throw self.mismatch(path, "\"\(word)\"")
        }
    }

    private mutating func optionalText(_ path: WirePath) throws(TrackingError) -> String? {
        try self.skipNull() ? nil : self.text(path)
    }
}

/// A fix while it is being read, with what it cannot do without.
private struct FeatureDraft {
    var fix = Location(coordinate: Coordinate(wrappingLatitude: 0, longitude: 0), time: UnixTime(0))
    var isFeature = false
    var hasCoordinate = false
    var hasTime = false

    func location(_ root: WirePath.Root) throws(TrackingError) -> Location {
        guard self.isFeature else { throw .missing(WirePath(root, "type")) }
        guard self.hasCoordinate else { throw .missing(WirePath(root, "geometry.coordinates")) }
        guard self.hasTime else { throw .missing(WirePath(root, "properties.time")) }
        return self.fix
    }
}

extension TrackingError {
    /// The error of a member that a message cannot do without.
    static func missing(_ path: WirePath) -> TrackingError {
        TrackingError(.invalidPayload, "\(path.text) is missing")
    }
}
