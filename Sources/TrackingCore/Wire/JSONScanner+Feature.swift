extension JSONScanner {
    /// Reads a GeoJSON Feature whose geometry is a Point, and returns it as a position. Properties that the protocol
    /// does not define are skipped.
    mutating func feature(_ root: WireRoot) throws(Refusal) -> Location {
        var isWhole = true
        return try self.feature(root, isWhole: &isWhole)
    }

    /// Reads a GeoJSON Feature whose geometry is a Point, and returns it as a position. Also finds if the Feature has
    /// properties that the protocol does not define; they are skipped.
    ///
    /// - Parameters:
    ///   - root: The place of the Feature in the message, for the paths in error messages.
    ///   - isWhole: Set to `false` when the Feature has a property that the protocol does not define, and otherwise to
    ///     `true`.
    mutating func feature(_ root: WireRoot, isWhole: inout Bool) throws(Refusal) -> Location {
        var draft = FeatureDraft()
        try self.beginObject()
        self.root = root
        self.prefix = ""
        while try self.nextMember() {
            switch self.key {
            case "type":
                try self.constant("Feature")
                draft.isFeature = true
            case "geometry": try self.geometry(&draft)
            case "properties": if try !self.skipNull() { try self.properties(&draft) }
            default: try self.skipValue()
            }
        }
        guard draft.isFeature else { throw self.missing("type") }
        guard draft.hasCoordinate else { throw self.missing("geometry.coordinates") }
        guard draft.hasTime else { throw self.missing("properties.time") }
        self.root = .message
        isWhole = draft.isWhole
        return draft.fix
    }

    private mutating func geometry(_ draft: inout FeatureDraft) throws(Refusal) {
        var isPoint = false
        try self.beginObject()
        self.prefix = "geometry."
        while try self.nextMember() {
            switch self.key {
            case "type":
                try self.constant("Point")
                isPoint = true
            case "coordinates": try self.coordinates(&draft)
            default: try self.skipValue()
            }
        }
        guard isPoint else { throw self.missing("geometry.type") }
        self.prefix = ""
    }

    private mutating func coordinates(_ draft: inout FeatureDraft) throws(Refusal) {
        var longitude = 0.0
        var latitude: Double?
        var count = 0
        draft.fix.altitude = nil
        try self.beginArray()
        while try self.nextElement() {
            switch count {
            case 0: longitude = try self.number(.longitude)
            case 1: latitude = try self.number(.latitude)
            case 2: draft.fix.altitude = try self.optionalNumber(.finite)
            default: _ = try self.number(.finite)  // RFC 7946 lets readers ignore more
            }
            count &+= 1
        }
        guard let latitude, let coordinate = Coordinate(latitude: latitude, longitude: longitude) else {
            throw self.mismatch("[longitude, latitude] or [longitude, latitude, altitude]", found: "fewer numbers")
        }
        draft.fix.coordinate = coordinate
        draft.hasCoordinate = true
    }

    private mutating func properties(_ draft: inout FeatureDraft) throws(Refusal) {
        try self.beginObject()
        self.prefix = "properties."
        while try self.nextMember() {
            switch self.key {
            case "time":
                let time = try self.optionalNumber(.time)
                draft.fix.time = UnixTime(time ?? 0)
                draft.hasTime = time != nil
            case "accuracyHorizontal": draft.fix.accuracyHorizontal = try self.optionalNumber(.notNegative)
            case "accuracyVertical": draft.fix.accuracyVertical = try self.optionalNumber(.notNegative)
            case "bearing":
                let bearing = try self.optionalNumber(.bearing)
                draft.fix.bearing = bearing == 360 ? 0 : bearing
            case "accuracyBearing": draft.fix.accuracyBearing = try self.optionalNumber(.notNegative)
            case "speed": draft.fix.speed = try self.optionalNumber(.notNegative)
            case "accuracySpeed": draft.fix.accuracySpeed = try self.optionalNumber(.notNegative)
            case "batteryLevel": draft.fix.batteryLevel = try self.optionalNumber(.fraction)
            default: if try !self.label(&draft.fix) { draft.isWhole = false }
            }
        }
        self.prefix = ""
    }

    /// Reads the value of a property that is not a measurement, such as the trip id. Skips the value of an unknown
    /// property.
    ///
    /// - Returns: `true` when the protocol defines the property; otherwise `false`.
    private mutating func label(_ fix: inout Location) throws(Refusal) -> Bool {
        switch self.key {
        case "floor":
            fix.floor = try self.skipNull() ? nil : self.integer(-WireLimits.greatest...WireLimits.greatest)
        case "seq": fix.seq = try self.skipNull() ? nil : UInt64(self.integer(1...WireLimits.greatest))
        case "stream": fix.stream = try self.skipNull() ? nil : self.stream()
        case "mode": fix.mode = try self.knownChoice()
        case "motion": fix.motion = try self.skipNull() ? [] : self.motion()
        case "tripId": fix.tripID = try self.skipNull() ? nil : self.tripID()
        case "source": fix.source = try self.knownChoice()
        case "extra": fix.extra = try self.skipNull() ? nil : self.extra()
        default:
            try self.skipValue()
            return false
        }
        return true
    }

    /// Reads a JSON string that is the id of a stream, the numbered sequence of a publisher's records.
    mutating func stream() throws(Refusal) -> StreamID {
        try self.text("a string of 1 to 64 bytes without control characters", StreamID.init)
    }

    /// Reads a point's trip id; returns `nil` for an empty string, which means the point has no trip.
    private mutating func tripID() throws(Refusal) -> String? {
        let text = try self.text(WireLimits.tripIDRule) { $0.isEmpty || $0.isTripID ? $0 : nil }
        return text.isEmpty ? nil : text
    }

    private mutating func motion() throws(Refusal) -> [Motion] {
        var words: [Motion] = []
        try self.beginArray()
        while try self.nextElement() {
            if let word: Motion = try self.knownChoice(), !words.contains(word) { words.append(word) }
        }
        return words
    }

    /// Checks the grammar and the size of a point's member `extra`, an object, and returns its unchanged bytes.
    private mutating func extra() throws(Refusal) -> [UInt8] {
        guard self.peek() == UInt8(ascii: "{") else { throw self.mismatch("an object") }
        let start = self.position
        let depth = self.remainingDepth
        let key = self.key
        self.remainingDepth = WireLimits.maximumExtraDepth
        try self.skipValue()
        self.remainingDepth = depth
        self.key = key
        let bytes = self.read(since: start)
        guard bytes.count <= Location.maximumExtraBytes else {
            throw self.mismatch("at most \(Location.maximumExtraBytes) bytes", found: "more")
        }
        return Array(bytes)
    }

    private mutating func constant(_ word: StaticString) throws(Refusal) {
        guard self.peek() == UInt8(ascii: "\"") else { throw self.mismatch("\"\(word)\"") }
        guard word ~= (try self.stringToken()) else { throw self.mismatch("\"\(word)\"", found: "another string") }
    }
}

/// A fix while its GeoJSON Feature is being read. Three flags state which mandatory members were found so far. The flag
/// `isWhole` is `false` after a property that the protocol does not define.
private struct FeatureDraft {
    var fix = Location(coordinate: Coordinate(wrappingLatitude: 0, longitude: 0), time: UnixTime(0))
    var isFeature = false
    var hasCoordinate = false
    var hasTime = false
    var isWhole = true
}
