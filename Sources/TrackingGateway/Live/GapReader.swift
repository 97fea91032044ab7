import NIOCore
import TrackingCore
import TrackingStore
import TrackingSubscriber

/// Reads the positions and events that a client missed from the history, after its live stream was interrupted.
///
/// The reading begins once the gateway receives everything live again. The history then has the earlier records, and
/// the live stream delivers the later ones. If the records cannot be read, or are too many, a `reset` event tells the
/// client that they are incomplete.
struct GapReader {
    /// The largest number of points and events that are read from the history for one live stream: 10,000. If there are
    /// more, the client gets the event `reset`.
    static let maximumRecords = 10_000
    /// The number of points that are read from the history at once. It is small, so that a caller whose access ends
    /// receives few points afterwards.
    private static let page = 250
    /// The largest number of trackables whose history is read for one live stream: 1,000. For a stream with more, the
    /// client gets the event `reset`.
    static let maximumTrackables = 1_000
    /// The time by which the reading of the history begins before the interruption of the live stream: 60 s. Recorders
    /// may store points out of order, a point up to this time after points with later times.
    static let disorder = Duration.seconds(60)

    private let times: TimeSpan
    private let selection: LiveSelection
    private let history: (any HistoryStore)?
    private let settled: @Sendable () async -> Bool
    /// The trackables whose records must still be read from the history for the interrupted live stream; `nil` before
    /// the first page was read.
    private var unread: ArraySlice<TrackableID>?
    private var after: PointName?
    private var left = GapReader.maximumRecords
    private var isOver = false

    /// Creates a reader of the positions and events that the client of one live stream missed. It has read nothing yet.
    ///
    /// - Parameters:
    ///   - since: The time at which the stream was interrupted.
    ///   - selection: The trackables and positions that the stream shows.
    ///   - history: The history; `nil` for none.
    ///   - settled: A function that waits until the gateway receives everything live; it returns `false` if that takes
    ///     too long.
    init(
        since: UnixTime, selection: LiveSelection, history: (any HistoryStore)?,
        settled: @escaping @Sendable () async -> Bool
    ) {
        let begin = since.advanced(by: .zero - Self.disorder)
        self.times = TimeSpan(from: max(begin, selection.span?.lowerBound ?? begin))
        self.selection = selection
        self.history = history
        self.settled = settled
    }

    /// Returns the next page of recorded positions and events as bytes of the stream; `nil` at the end. If the records
    /// cannot be read or are too many, returns a last event `reset`.
    mutating func next() async -> ByteBuffer? {
        guard !self.isOver else { return nil }
        do {
            guard let history = self.history, history.isPresent, try await self.begin(history) else {
                return self.giveUp()
            }
            while let id = self.unread?.first {
                let frame = try await self.read(id, history)
                guard self.left >= 0 else { return self.giveUp() }
                if frame.readableBytes > 0 { return frame }
            }
            return nil
        } catch {
            return self.giveUp()
        }
    }

    private mutating func giveUp() -> ByteBuffer {
        self.isOver = true
        return LiveFrame.stream("reset", [:])
    }

    /// Waits, at the first call, until the gateway receives everything live, and then lists the trackables whose
    /// history is read. Later calls do nothing.
    ///
    /// - Returns: `false` if the gateway does not receive everything live in time, or if the live stream shows more
    ///   than ``maximumTrackables`` trackables.
    private mutating func begin(_ history: any HistoryStore) async throws -> Bool {
        guard self.unread == nil else { return true }
        guard await self.settled() else { return false }
        let ids = try await self.trackables(history)
        guard ids.count <= Self.maximumTrackables else { return false }
        self.unread = ids[...]
        return true
    }

    /// Returns the trackables that the interrupted live stream shows, also those that only the history knows. For a
    /// stream of all trackables, returns at most one more than ``maximumTrackables``.
    private func trackables(_ history: any HistoryStore) async throws -> [TrackableID] {
        if let named = self.selection.named { return Array(named) }
        if case .box(let box) = self.selection.wanted {
            return try await history.trackables(in: box, during: self.times).filter(self.selection.reads.contains)
        }
        return try await history.trackables(after: nil, limit: Self.maximumTrackables + 1).map(\.id)
    }

    /// Returns the next page of a trackable's points, and after the last point the trackable's events.
    private mutating func read(_ id: TrackableID, _ history: any HistoryStore) async throws -> ByteBuffer {
        let page = try await history.points(PointQuery(id, during: self.times), after: self.after, limit: Self.page)
        var frame = self.frame(page.points.filter { !$0.hasClockFault }.map(\.location), of: id)
        self.left -= page.points.count
        self.after = page.next
        guard page.next == nil else { return frame }
        self.unread = self.unread?.dropFirst()
        guard self.left >= 0 else { return frame }
        var last: TrackingEvent?
        while self.left >= 0 {
            let limit = min(Self.eventPage, self.left + 1)
            let events = try await history.events(of: id, during: self.times, after: last, limit: limit)
            self.left -= events.count
            for event in events where self.selection.wants(event) {
                let payload = MessageCodec.encode(event)
                frame.writeImmutableBuffer(LiveFrame.event(.event, of: id, payload, extra: LiveFrame.late, as: nil))
            }
            if frame.readableBytes > Self.maximumFrameBytes { self.left = -1 }
            guard events.count == limit else { break }
            last = events.last
        }
        return frame
    }

    /// The largest number of tracking events that one query of the history returns to fill a gap in a live stream: 200.
    private static let eventPage = 200
    /// The limit in bytes for the recorded events of one trackable that are read to fill a gap in a live stream. Beyond
    /// it, the stream sends `reset` instead.
    private static let maximumFrameBytes = 33_554_432

    private func frame(_ points: [Location], of id: TrackableID) -> ByteBuffer {
        var buffer = ByteBuffer()
        for point in points where self.selection.wants(point) {
            let late = ReceivedUpdate(
                update: LocationUpdate(location: self.selection.shown(point)), skipped: [], isLate: true,
                isRetained: false)
            if let frame = LiveFrame.position(late, of: id, as: nil) { buffer.writeImmutableBuffer(frame) }
        }
        return buffer
    }
}

extension LiveSelection {
    /// Returns `true` if a live stream shows a recorded event. A stream of a geographic area also shows events without
    /// a place. A stream of a share link shows no events.
    fileprivate func wants(_ event: TrackingEvent) -> Bool {
        guard self.span == nil else { return false }
        guard case .box(let box) = self.wanted, let place = event.location?.coordinate else { return true }
        return box.contains(place)
    }
}
