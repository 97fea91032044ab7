extension JSONWriter {
    /// Writes the member `enhanced` with the match of a fix with a road.
    mutating func member(_ enhancement: Enhancement) {
        self.name("enhanced")
        self.object(enhancement)
    }

    /// Writes a match as a JSON object.
    fileprivate mutating func object(_ enhancement: Enhancement) {
        self.raw("{")
        self.member("road", enhancement.road?.cut)
        self.member("way", enhancement.way)
        self.member("class", enhancement.roadClass?.cut)
        self.member("speedLimit", enhancement.speedLimit, .notNegative)
        self.member("offset", enhancement.offset?.value, .notNegative)
        self.member("confidence", enhancement.confidence.rawValue)
        self.member("final", enhancement.finalSeq)
        self.raw("}")
    }
}

extension LocationCodec {
    /// Encodes the match of a fix with a road as a JSON object, the member `enhanced` of an update.
    public static func encodeEnhancement(_ enhancement: Enhancement) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.object(enhancement)
        return writer.bytes
    }
}

extension JSONScanner {
    /// Reads the member `enhanced` of an update, the match of its fix with a road.
    mutating func enhancement() throws(Refusal) -> Enhancement {
        var confidence: Enhancement.Confidence?
        var enhancement = Enhancement(confidence: .offRoad)
        try self.beginObject()
        self.root = .enhanced
        while try self.nextMember() {
            switch self.key {
            case "road": enhancement.road = try self.optionalText()?.cut
            case "way": enhancement.way = try self.optionalCount()
            case "class": enhancement.roadClass = try self.optionalText()?.cut
            case "speedLimit": enhancement.speedLimit = try self.optionalNumber(.notNegative)
            case "offset": enhancement.offset = try self.optionalNumber(.notNegative).map { Meters($0) }
            case "confidence": confidence = try self.choice()
            case "final": enhancement.finalSeq = try self.optionalCount()
            default: try self.skipValue()
            }
        }
        guard let confidence else { throw self.missing("confidence") }
        self.root = .message
        enhancement.confidence = confidence
        return enhancement
    }

    private mutating func optionalCount() throws(Refusal) -> UInt64? {
        try self.skipNull() ? nil : UInt64(try self.integer(0...WireLimits.greatest))
    }
}

extension String {
    /// This text, cut at a character so that it has at most ``Enhancement/maximumTextBytes``.
    fileprivate var cut: String {
        guard self.utf8.count > Enhancement.maximumTextBytes else { return self }
        var text = self
        while text.utf8.count > Enhancement.maximumTextBytes { text.removeLast() }
        return text
    }
}
