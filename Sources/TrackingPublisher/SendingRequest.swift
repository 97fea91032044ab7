import TrackingCore

/// A caller's request that waits until records are sent: one batch of each trackable, or all records pending at its
/// start.
struct SendingRequest: Sendable {
    /// The part of the publisher's state that decides whether a caller's request to send records is fulfilled, goes on
    /// waiting, or fails.
    struct View: Hashable, Sendable {
        var isConnected: Bool
        /// The numbers of the records in the log that are not safe yet, by stream.
        var stored: [StreamID: SeqSet] = [:]
        /// The trackables with pending records or with a batch on its way to the broker.
        var busy: Set<TrackableID> = []
        /// The first reason found for which the broker rejects a trackable or its records; `nil` if it rejects nothing.
        /// The error of a request that fails contains it.
        var reason: TrackingError?
    }

    enum Verdict: Hashable, Sendable {
        case waits
        /// The caller's request to send records still waits, and the number of sent records is to be reported to the
        /// caller.
        case progressed
        case ended(Result<Int, TrackingError>)
    }

    private enum Goal: Hashable, Sendable {
        /// The request waits for these trackables. They have pending records, and the broker has not acknowledged a
        /// batch of their records since the request began.
        case batch(Set<TrackableID>)
        /// The request waits until these records, given as stream and numbers, are safe or no longer in the log.
        case everything([StreamID: SeqSet])
    }

    /// The longest time for which a request to send records waits without a connection to the broker. After it, the
    /// request fails.
    static let connectionPatience: Duration = .seconds(10)
    /// The longest time for which a request to send one batch of each trackable waits without progress. After it, the
    /// request fails.
    static let batchPatience: Duration = .seconds(20)
    /// The longest time for which a request to send all pending records waits without progress. After it, the request
    /// fails.
    static let progressPatience: Duration = .seconds(70)
    /// The longest time between two progress reports of a request to send all pending records.
    static let progressInterval: Duration = .seconds(10)

    /// The number by which the publisher identifies the caller's request.
    let number: UInt64
    /// The number of records that the request covers; 0 for a request for one batch of each trackable.
    let total: Int
    private var goal: Goal
    private var sent = 0
    private var left: Int
    private var reported: (moment: MonotonicTime, left: Int)
    private var lastStep: MonotonicTime
    private var offlineSince: MonotonicTime?

    /// Creates a request that waits until the broker has acknowledged one batch of records of each of these trackables.
    init(_ number: UInt64, batchOf trackables: Set<TrackableID>, at now: MonotonicTime) {
        self.init(number, .batch(trackables), total: 0, left: trackables.count, at: now)
    }

    /// Creates a request to send all pending records, which waits until all records that are now pending in these
    /// streams are safe.
    init(_ number: UInt64, everythingOf streams: [StoredStream], at now: MonotonicTime) {
        let stored = Dictionary(streams.map { ($0.id, $0.stored) }) { first, _ in first }
        let total = streams.reduce(0) { $0 + $1.stored.count }
        self.init(number, .everything(stored), total: total, left: total, at: now)
    }

    private init(_ number: UInt64, _ goal: Goal, total: Int, left: Int, at now: MonotonicTime) {
        self.number = number
        self.goal = goal
        self.total = total
        self.left = left
        self.reported = (now, left)
        self.lastStep = now
    }

    /// For a request to send all pending records: the number of its records that are safe or no longer in the log. Not
    /// used for other requests.
    var done: Int { self.total - self.left }

    /// The time at which the request must be looked at again: to report its progress, or to fail because it waited too
    /// long. A request for one batch of each trackable has no progress reports.
    var nextDeadline: MonotonicTime? {
        let end = self.deadline
        guard case .everything = self.goal else { return end }
        return min(end, self.reported.moment.advanced(by: Self.progressInterval))
    }

    private var deadline: MonotonicTime {
        let end = self.lastStep.advanced(by: self.patience)
        return self.offlineSince.map { min(end, $0.advanced(by: Self.connectionPatience)) } ?? end
    }

    private var patience: Duration {
        switch self.goal {
        case .batch: Self.batchPatience
        case .everything: Self.progressPatience
        }
    }

    /// Handles that these records became safe. A request to send all pending records counts those for which it still
    /// waits; any other request ignores them.
    mutating func areSafe(_ seqs: SeqSet, of stream: StreamID) {
        guard case .everything(let streams) = self.goal, let own = streams[stream] else { return }
        self.sent += own.intersection(seqs).count
    }

    /// Handles that the broker acknowledged a batch of a trackable's records. A request for one batch of each trackable
    /// then no longer waits for this trackable. A request for all pending records is not changed.
    ///
    /// - Parameter count: The number of records in the batch.
    mutating func batchTaken(of id: TrackableID, count: Int) {
        guard case .batch(var trackables) = self.goal, trackables.remove(id) != nil else { return }
        self.sent += count
        self.goal = .batch(trackables)
    }

    /// Compares a caller's request to send records with the publisher's present state. Returns one of three results:
    /// the request still waits, it has progress to report, or it has ended with the number of sent records or an error.
    mutating func looked(at view: View, now: MonotonicTime) -> Verdict {
        let before = self.left
        self.narrow(to: view)
        if self.left < before { self.lastStep = now }
        guard self.left > 0 else { return .ended(.success(self.sent)) }
        self.offlineSince = view.isConnected ? nil : self.offlineSince ?? now
        guard now < self.deadline else { return .ended(.failure(self.failure(view))) }
        guard case .everything = self.goal,
            self.left < self.reported.left || now >= self.reported.moment.advanced(by: Self.progressInterval)
        else { return .waits }
        self.reported = (now, self.left)
        return .progressed
    }

    private mutating func narrow(to view: View) {
        switch self.goal {
        case .batch(let trackables):
            // A trackable without pending records owes no batch.
            let owing = trackables.intersection(view.busy)
            self.goal = .batch(owing)
            self.left = owing.count
        case .everything(let streams):
            let waiting = streams.reduce(into: [:]) { waiting, stream in
                waiting[stream.key] = view.stored[stream.key]?.intersection(stream.value)
            }.filter { !$0.value.isEmpty }
            self.goal = .everything(waiting)
            self.left = waiting.values.reduce(0) { $0 + $1.count }
        }
    }

    private func failure(_ view: View) -> TrackingError {
        guard view.isConnected else {
            return TrackingError(
                .brokerUnreachable,
                "cannot send the pending records: not connected to the broker. They are sent once it is connected.")
        }
        guard let reason = view.reason else {
            return TrackingError(
                .refused,
                """
                cannot send the pending records: the broker acknowledged none for \
                \(self.patience.components.seconds) s. The publisher tries again.
                """)
        }
        return TrackingError(
            reason.code, "cannot send the pending records: \(reason.message). The publisher tries again.",
            reasonCode: reason.reasonCode)
    }
}
