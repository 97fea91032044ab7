/// The encoding of fixes: location updates (topic `tracking/{id}`), raw updates with unfiltered fixes (topic
/// `tracking/{id}/raw`), and single GeoJSON Features.
///
/// The codec uses no general JSON encoder, because it encodes every fix of every trackable and must be fast.
public enum LocationCodec {
    /// Encodes a location update: the newest position, and skipped points, the earlier points that were not sent on
    /// their own.
    ///
    /// The payload contains at most the newest ``LocationUpdate/maximumSkipped`` skipped points. The oldest are omitted
    /// until the payload has at most ``WireLimits/maximumPayloadBytes``. A measured number that is not finite or out of
    /// range is omitted too.
    ///
    /// - Throws: ``TrackingError/Code/payloadTooLarge`` when the update is too large even without skipped points;
    ///   ``TrackingError/Code/invalidPayload`` when a time, a `seq`, a trip id or an `extra` violates the protocol.
    public static func encode(_ update: LocationUpdate) throws(TrackingError) -> [UInt8] {
        var leftOut = 0
        return try self.encode(update, leftOut: &leftOut)
    }

    /// Encodes a location update and counts the skipped points that were omitted.
    ///
    /// - Parameters:
    ///   - update: The update.
    ///   - leftOut: Set to the number of omitted skipped points, which are the oldest.
    /// - Throws: The same errors as ``encode(_:)``.
    public static func encode(_ update: LocationUpdate, leftOut: inout Int) throws(TrackingError) -> [UInt8] {
        try self.encode(update, isRaw: false, leftOut: &leftOut)
    }

    /// Encodes a raw update, the message with unfiltered fixes. It contains `location` and `skippedLocations` only.
    ///
    /// - Throws: The same errors as ``encode(_:)``.
    public static func encodeRaw(_ update: LocationUpdate) throws(TrackingError) -> [UInt8] {
        var leftOut = 0
        return try self.encodeRaw(update, leftOut: &leftOut)
    }

    /// Encodes a raw update, the message with unfiltered fixes, and counts the skipped points that were omitted.
    ///
    /// - Parameters:
    ///   - update: The update.
    ///   - leftOut: Set to the number of omitted skipped points, which are the oldest.
    /// - Throws: The same errors as ``encode(_:)``.
    public static func encodeRaw(_ update: LocationUpdate, leftOut: inout Int) throws(TrackingError) -> [UInt8] {
        try self.encode(update, isRaw: true, leftOut: &leftOut)
    }

    /// Encodes one fix as a GeoJSON Feature. Omits values that the protocol does not allow. Without a valid time,
    /// readers reject the Feature.
    ///
    /// - Parameters:
    ///   - location: The fix.
    ///   - stream: The stream that readers assume when the Feature has none. The fix's own stream is written only when
    ///     it differs from this one.
    public static func encodeFeature(_ location: Location, inheriting stream: StreamID? = nil) -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.feature(location, inheriting: stream)
        return writer.bytes
    }

    private static func encode(
        _ update: LocationUpdate, isRaw: Bool, leftOut: inout Int
    ) throws(TrackingError) -> [UInt8] {
        let skipped = update.skipped.suffix(LocationUpdate.maximumSkipped)
        try update.location.checkWritable(at: .location)
        for (index, point) in skipped.enumerated() { try point.checkWritable(at: .skipped(index)) }

        var writer = JSONWriter(capacity: 512 * (1 + skipped.count))
        writer.raw(#"{"location":"#)
        writer.feature(update.location)
        writer.raw(#","skippedLocations":["#)
        var starts: [Int] = []
        for point in skipped {
            writer.separate()
            starts.append(writer.count)
            writer.feature(point, inheriting: update.location.stream)
        }
        starts.append(writer.count)
        writer.raw("]")
        if !isRaw {
            try writer.intermediates(of: update)
            if let enhancement = update.enhancement { writer.member(enhancement) }
        }
        writer.raw("}")
        leftOut = update.skipped.count - skipped.count
        leftOut += try writer.leaveOutOldest(starts)
        return writer.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func intermediates(of update: LocationUpdate) throws(TrackingError) {
        self.raw(#","intermediateLocations":["#)
        for (index, point) in update.intermediate.enumerated() {
            try point.checkWritable(at: .intermediate(index))
            self.separate()
            self.feature(point)
        }
        self.raw(#"],"type":"#)
        self.text(update.kind.rawValue)
    }

    /// Removes the oldest skipped points from the written payload, until the payload has at most
    /// ``WireLimits/maximumPayloadBytes``. Removes no more than necessary.
    ///
    /// - Parameter starts: The byte offset of each skipped point, followed by the end of the last.
    /// - Returns: The number of removed points.
    /// - Throws: ``TrackingError/Code/payloadTooLarge`` when the payload is too large even without skipped points.
    fileprivate mutating func leaveOutOldest(_ starts: [Int]) throws(TrackingError) -> Int {
        let excess = self.count - WireLimits.maximumPayloadBytes
        guard excess > 0 else { return 0 }
        guard let count = starts.firstIndex(where: { $0 - starts[0] >= excess }) else {
            throw TrackingError(
                .payloadTooLarge,
                "cannot encode the position: it has more than \(WireLimits.maximumPayloadBytes) bytes even without skipped points. Shorten its extra members"
            )
        }
        self.remove(starts[0]..<starts[count])
        return count
    }
}
