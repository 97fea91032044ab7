extension JSONWriter {
    /// Writes a fix as a GeoJSON Feature. Omits values that the protocol does not allow, such as a number out of range.
    ///
    /// - Parameters:
    ///   - location: The fix.
    ///   - stream: The stream that readers assume when the Feature has none. The fix's own stream is written only when
    ///     it differs from this one.
    mutating func feature(_ location: Location, inheriting stream: StreamID? = nil) {
        self.raw(#"{"type":"Feature","geometry":{"type":"Point","coordinates":["#)
        self.number(location.coordinate.longitude)
        self.raw(",")
        self.number(location.coordinate.latitude)
        if let altitude = location.altitude, altitude.isFinite {
            self.raw(",")
            self.number(altitude)
        }
        self.raw(#"]},"properties":{"#)
        self.measurements(of: location)
        self.member("seq", location.seq.flatMap { $0 > 0 ? $0 : nil })
        if location.stream != stream { self.member("stream", location.stream?.rawValue) }
        self.member("batteryLevel", location.batteryLevel, .fraction)
        self.member("mode", location.mode?.rawValue)
        self.motion(location.motion)
        if let id = location.tripID, id.isTripID { self.member("tripId", id) }
        self.member("source", location.source?.rawValue)
        if let extra = location.extra, location.isExtraWritable {
            self.name("extra")
            extra.withUnsafeBufferPointer { self.raw($0) }
        }
        self.raw("}}")
    }

    private mutating func measurements(of location: Location) {
        self.member("time", location.time.seconds, .time)
        self.member("accuracyHorizontal", location.accuracyHorizontal, .notNegative)
        self.member("accuracyVertical", location.accuracyVertical, .notNegative)
        self.member("bearing", location.bearing.map { $0 == 360 ? 0 : $0 }, .bearing)
        self.member("accuracyBearing", location.accuracyBearing, .notNegative)
        self.member("speed", location.speed, .notNegative)
        self.member("accuracySpeed", location.accuracySpeed, .notNegative)
        self.member("floor", location.floor)
    }

    private mutating func motion(_ motion: [Motion]) {
        guard !motion.isEmpty else { return }
        self.name("motion")
        self.raw("[")
        for word in motion {
            self.separate()
            self.text(word.rawValue)
        }
        self.raw("]")
    }
}

extension Location {
    /// Checks that the time, `seq`, trip id and `extra` of a fix are valid. The encoder may omit other invalid values,
    /// but not these.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` that names the member that violates the protocol.
    func checkWritable(at root: WireRoot) throws(TrackingError) {
        guard NumberRule.time.allows(self.time.seconds) else {
            throw TrackingError(
                .invalidPayload, "\(root.path("properties.time")) must be \(NumberRule.time.words)")
        }
        if let seq = self.seq, seq == 0 || seq > WireLimits.maximumInteger {
            throw TrackingError(
                .invalidPayload,
                "\(root.path("properties.seq")) must be a whole number from 1 to \(WireLimits.maximumInteger)"
            )
        }
        guard self.tripID.map({ $0.isEmpty || $0.isTripID }) ?? true else {
            throw TrackingError(
                .invalidPayload, "\(root.path("properties.tripId")) must be \(WireLimits.tripIDRule)")
        }
        guard self.isExtraWritable else {
            throw TrackingError(
                .invalidPayload,
                "\(root.path("properties.extra")) must be a JSON object of at most "
                    + "\(Self.maximumExtraBytes) bytes")
        }
    }

    /// `true` when the fix has no `extra`, or an `extra` that readers accept: a valid JSON object within the size and
    /// nesting limits.
    var isExtraWritable: Bool {
        guard let extra = self.extra else { return true }
        guard extra.count <= Self.maximumExtraBytes, extra.first == UInt8(ascii: "{") else { return false }
        return extra.withUnsafeBufferPointer { bytes in
            guard bytes.isUTF8 else { return false }
            var scanner = JSONScanner(bytes, maximumDepth: WireLimits.maximumExtraDepth)
            return (try? scanner.skipValue()) != nil && scanner.isAtEnd
        }
    }
}
