import TrackingCore
import TrackingRuntime

/// Decides which positions of a broker's topic are fixes for the publisher.
///
/// A position is used only if it is newer than the last one, by time. So a publisher that reads its own positions, for
/// example through a bridge between two brokers, never publishes the same position twice.
struct TopicFixes: Sendable {
    private var last: UnixTime?

    /// Returns the new fixes of a message, the oldest first: its skipped points and its position.
    ///
    /// The retained message is ignored, because its position may be old. A predicted position is no fix. The fixes have
    /// none of the members by which the other publisher names them: number, stream, trip and mode.
    ///
    /// - Throws: `invalidPayload` or `payloadTooLarge` for a message that is no location update.
    mutating func received(
        _ message: IncomingMessage, clock: UnixTime = DeviceClock.wall
    ) throws(TrackingError) -> [Location] {
        guard !message.isRetained, !message.payload.isEmpty else { return [] }
        let update = try LocationCodec.decode(message.payload)
        let points = update.skipped + (update.kind == .actual ? [update.location] : [])
        return points.filter { $0.source != .predicted && self.isNew($0, clock) }.map(\.withoutNames)
    }

    /// Returns `true` if a point is newer than the last one. A last point ahead of the device's clock does not count for
    /// points that are not ahead of it, because its time is wrong.
    private mutating func isNew(_ point: Location, _ clock: UnixTime) -> Bool {
        let latest = clock.advanced(by: LivePosition.maximumAhead)
        if let last = self.last, point.time <= last, last <= latest || point.time > latest { return false }
        self.last = point.time
        return true
    }
}

extension Location {
    /// This fix without the members by which its publisher names it: number, stream, trip and mode.
    fileprivate var withoutNames: Location {
        var fix = self
        (fix.seq, fix.stream, fix.tripID, fix.mode) = (nil, nil, nil, nil)
        return fix
    }
}
