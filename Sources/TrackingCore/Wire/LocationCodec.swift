/// The bytes of fixes: location updates (`tracking/{id}`), raw updates (`…/raw`) and single GeoJSON Features.
///
/// Written by hand, without Foundation: these are the messages that every fix of every trackable becomes.
public enum LocationCodec {
    /// Writes a location update.
    ///
    /// Of the skipped points the newest ``LocationUpdate/maximumSkipped`` are written, and of those the oldest are left out
    /// until the payload has at most ``WireLimits/maximumPayloadBytes``; `leftOut` in the other form counts them.
    /// An optional number that is not finite or out of its documented range is unknown to readers, so it is not written.
    ///
    /// - Throws: `payloadTooLarge` when it does not fit even without skipped points; `invalidPayload` when a time, a `seq`
    ///   or an `extra` is not what the protocol allows.
    public static func encode(_ update: LocationUpdate) throws(TrackingError) -> [UInt8] {
        var leftOut = 0
        return try self.encode(update, leftOut: &leftOut)
    }

    /// Writes a location update and tells how many of the oldest skipped points had to be left out.
    ///
    /// - Throws: as ``encode(_:)`` does.
    public static func encode(_ update: LocationUpdate, leftOut: inout Int) throws(TrackingError) -> [UInt8] {
        try self.encode(update, isRaw: false, leftOut: &leftOut)
    }

    /// Writes a raw update: `location` and `skippedLocations` only.
    ///
    /// - Throws: as ``encode(_:)`` does.
    public static func encodeRaw(_ update: LocationUpdate) throws(TrackingError) -> [UInt8] {
        var leftOut = 0
        return try self.encodeRaw(update, leftOut: &leftOut)
    }

    /// Writes a raw update and tells how many of the oldest skipped points had to be left out.
    ///
    /// - Throws: as ``encode(_:)`` does.
    public static func encodeRaw(_ update: LocationUpdate, leftOut: inout Int) throws(TrackingError) -> [UInt8] {
        try self.encode(update, isRaw: true, leftOut: &leftOut)
    }

    /// Writes one GeoJSON Feature. What the protocol does not allow is left out; without a time a reader refuses it.
    ///
    /// - Parameter stream: What is known from where the Feature stands: it is not written when it is the point's own.
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

    /// Removes the fewest of the oldest points that make the payload fit. `starts` are where each point begins, and the
    /// end of the last.
    ///
    /// - Returns: how many were removed.
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
