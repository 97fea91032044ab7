public import TrackingCore
import TrackingRuntime

/// A function that reads one page of the recorded points of a trackable, ordered by time.
///
/// - Parameters:
///   - id: The trackable.
///   - from: The time from which points are read.
///   - after: The point after which the page begins, as returned with the page before; `nil` for the first page.
/// - Returns: The points, and the point after which the next page begins; `nil` after the last page.
public typealias RecordedPoints =
    @Sendable (_ id: TrackableID, _ from: UnixTime, _ after: PointName?) async throws(TrackingError) -> (
        points: [Location], next: PointName?
    )

extension AssetSubscriber {
    /// Returns the recorded points of trackables since a time, ordered by time, followed by all live events from now
    /// on. Each point is delivered once.
    ///
    /// Create the sequence before ``run()``, and watch the same trackables. The sequence holds one page of points of
    /// each trackable in memory, so `recorded` should read smaller pages for many trackables.
    ///
    /// The first live position of a trackable waits until the recorder has stored the points before it. These waits
    /// take at most 5 s in total, over all trackables. Live events are buffered while recorded points are read, within
    /// the limits of ``events``.
    ///
    /// - Parameters:
    ///   - time: The time of the first recorded points.
    ///   - ids: The trackables whose recorded points are delivered.
    ///   - recorded: Reads one page of the recorded points of a trackable.
    public func events(
        since time: UnixTime, of ids: [TrackableID], recorded: @escaping RecordedPoints
    ) -> RecordedThenLive {
        RecordedThenLive(live: self.events, since: time, of: ids, recorded: recorded)
    }
}

/// The recorded points of trackables followed by the live events of a subscriber, as
/// ``AssetSubscriber/events(since:of:recorded:)`` returns them. Iterate over it in one task.
public struct RecordedThenLive: AsyncSequence, Sendable {
    let live: AsyncStream<SubscriberEvent>
    let since: UnixTime
    let ids: [TrackableID]
    let recorded: RecordedPoints
    /// The longest time that the sequence waits, in total for all trackables, until a recorder has stored the points
    /// before the first live positions. Once this time is used up, live positions are delivered without waiting.
    let patience: Duration

    init(
        live: AsyncStream<SubscriberEvent>, since: UnixTime, of ids: [TrackableID],
        patience: Duration = .seconds(5), recorded: @escaping RecordedPoints
    ) {
        self.live = live
        self.since = since
        self.ids = ids
        self.recorded = recorded
        self.patience = patience
    }

    /// Returns an iterator that delivers first the recorded points and then the live events.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// The iterator that one task uses to receive first the recorded points and then the live events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// A second reading of a trackable's history, before the trackable's first live position is delivered. It finds
        /// the points that the recorder stored after the first reading.
        private struct Reading {
            let id: TrackableID
            let from: UnixTime
            var after: PointName?
            /// The trackable's first live position, held back until the history was read a second time.
            let held: ReceivedUpdate
        }

        private let since: UnixTime
        private let recorded: RecordedPoints
        private let patience: Duration
        private var live: AsyncStream<SubscriberEvent>.Iterator
        private var merge: RecordedMerge?
        private var reading: Reading?
        private var seams: [TrackableID: HistorySeam] = [:]
        private var waiting: ArraySlice<SubscriberEvent> = []
        private var deadline: MonotonicTime?

        /// The wait between two attempts to find a live position in the history, while the recorder has not stored it
        /// yet.
        private static let pause = Duration.milliseconds(100)

        init(_ sequence: RecordedThenLive) {
            self.since = sequence.since
            self.recorded = sequence.recorded
            self.patience = sequence.patience
            self.live = sequence.live.makeAsyncIterator()
            self.merge = RecordedMerge(of: sequence.ids, since: sequence.since, sequence.recorded)
            for id in sequence.ids { self.seams[id] = HistorySeam() }
        }

        /// Returns the next recorded point or live event; `nil` at the end of the live events.
        ///
        /// - Throws: The error of reading the history.
        public mutating func next() async throws -> SubscriberEvent? {
            while true {
                if let event = self.waiting.popFirst() { return event }
                if let reading = self.reading {
                    try await self.read(reading)
                } else if self.merge != nil {
                    if let (id, point) = try await self.merge?.next() {
                        self.deliver(point, of: id)
                    } else {
                        self.merge = nil
                    }
                } else if let event = await self.live.next(isolation: #isolation) {
                    self.take(event)
                } else {
                    return nil
                }
            }
        }

        /// Reads the next page of the second reading of a trackable's history. If the recorder has not stored the held
        /// live position yet, waits a short time for it.
        private mutating func read(_ reading: Reading) async throws {
            let page = try await self.recorded(reading.id, reading.from, reading.after)
            for point in page.points { self.deliver(point, of: reading.id) }
            self.reading?.after = page.next
            guard page.next == nil else { return }
            if self.seams[reading.id]?.misses(reading.held.update) == true, self.isPatient {
                try await Task.sleep(for: Self.pause)
                return
            }
            self.reading = nil
            self.pass(reading.held, of: reading.id)
        }

        /// Adds a recorded point, as a position event, to the events that `next()` returns. Does nothing if the point
        /// was delivered before.
        private mutating func deliver(_ point: Location, of id: TrackableID) {
            guard self.seams[id]?.admits(point) == true else { return }
            let update = ReceivedUpdate(
                update: LocationUpdate(location: point), skipped: [], isLate: false, isRetained: false)
            self.waiting.append(.location(id, update))
        }

        private var isPatient: Bool { self.deadline.map { DeviceClock.now < $0 } ?? false }

        /// Handles a live event. The first live position of a trackable is held until the points recorded before it are
        /// read again.
        private mutating func take(_ event: SubscriberEvent) {
            guard case .location(let id, let received) = event, let seam = self.seams[id] else {
                self.waiting.append(event)
                return
            }
            guard let from = seam.start(before: received.update, since: self.since) else {
                return self.pass(received, of: id)
            }
            self.seams[id]?.isClosed = true
            self.deadline = self.deadline ?? DeviceClock.now.advanced(by: self.patience)
            self.reading = Reading(id: id, from: from, held: received)
        }

        private mutating func pass(_ received: ReceivedUpdate, of id: TrackableID) {
            guard let rest = self.seams[id]?.rest(of: received) else { return }
            self.waiting.append(.location(id, rest))
        }
    }
}
