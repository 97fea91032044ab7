/// The encoding of fixes: location updates (topic `tracking/{id}`), raw updates (`…/raw`) and single GeoJSON Features.
///
/// The codec is written by hand, without Foundation, because it encodes every fix of every trackable.
public enum LocationCodec {
    /// Encodes a location update.
    ///
    /// At most the newest ``LocationUpdate/maximumSkipped`` skipped points are written. The oldest of those are omitted
    /// until the payload has at most ``WireLimits/maximumPayloadBytes``. ``encode(_:leftOut:)`` also counts the omitted
    /// points. An optional number that is not finite or out of its range is omitted, because readers would treat it as
    /// unknown.
    ///
    /// - Throws: ``TrackingError/Code/payloadTooLarge`` when the update does not fit even without skipped points;
    ///   ``TrackingError/Code/invalidPayload`` when a time, a `seq`, a trip id or an `extra` violates the protocol.
    public static func encode(_ update: LocationUpdate) throws(TrackingError) -> [UInt8] {
        var leftOut = 0
        return try self.encode(update, leftOut: &leftOut)
    }

    /// Encodes a location update and counts the skipped points that were omitted.
    ///
    /// - Parameters:
    ///   - update: The update.
    ///   - leftOut: Set to the number of the oldest skipped points that were omitted.
    /// - Throws: The same errors as ``encode(_:)``.
    public static func encode(_ update: LocationUpdate, leftOut: inout Int) throws(TrackingError) -> [UInt8] {
        try self.encode(update, isRaw: false, leftOut: &leftOut)
    }

    /// Encodes a raw update, which has `location` and `skippedLocations` only.
    ///
    /// - Throws: The same errors as ``encode(_:)``.
    public static func encodeRaw(_ update: LocationUpdate) throws(TrackingError) -> [UInt8] {
        var leftOut = 0
        return try self.encodeRaw(update, leftOut: &leftOut)
    }

    /// Encodes a raw update and counts the skipped points that were omitted.
    ///
    /// - Parameters:
    ///   - update: The update.
    ///   - leftOut: Set to the number of the oldest skipped points that were omitted.
    /// - Throws: The same errors as ``encode(_:)``.
    public static func encodeRaw(_ update: LocationUpdate, leftOut: inout Int) throws(TrackingError) -> [UInt8] {
        try self.encode(update, isRaw: true, leftOut: &leftOut)
    }

    /// Encodes one GeoJSON Feature. Values that the protocol does not allow are omitted. A Feature without a valid time
    /// is rejected by readers.
    ///
    /// - Parameters:
    ///   - location: The fix.
    ///   - stream: The stream that readers assume. The fix's own stream is written only when it differs.
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
        if !isRaw { try writer.intermediates(of: update) }
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

    /// Removes as few of the oldest skipped points as necessary from the written payload, so that it has at most
    /// ``WireLimits/maximumPayloadBytes``.
    ///
    /// - Parameter starts: The offset of each point, followed by the end of the last.
    /// - Returns: The number of removed points.
    /// - Throws: ``TrackingError/Code/payloadTooLarge`` when the payload is too large without skipped points.
    fileprivate mutating func leaveOutOldest(_ starts: [Int]) throws(TrackingError) -> Int {
        let excess = self.count - WireLimits.maximumPayloadBytes
        guard excess > 0 else { return 0 }
        guard let count = starts.firstIndex(where: { $0 - starts[0] >= excess }) else {
            throw TrackingError(
                .payloadTooLarge,
                "a payload has at most \(WireLimits.maximumPayloadBytes) bytes; this one has more without skipped points"
            )
        }
        self.remove(starts[0]..<starts[count])
        return count
    }
}
