import TrackingCore

/// A request that waits until records are sent: a batch of each trackable, or all records that were pending at the
/// request.
struct SendingRequest: Sendable {
    /// The state of the publisher that is relevant to a request.
    struct View: Hashable, Sendable {
        var isConnected: Bool
        /// The records in the log, by stream.
        var stored: [StreamID: SeqSet] = [:]
        /// The trackables with records in flight or pending.
        var busy: Set<TrackableID> = []
        /// The reason that the broker rejects records.
        var reason: TrackingError?
    }

    enum Verdict: Hashable, Sendable {
        case waits
        /// The progress is to be reported.
        case progressed
        case ended(Result<Int, TrackingError>)
    }

    private enum Goal: Hashable, Sendable {
        /// The trackables whose batch is not acknowledged.
        case batch(Set<TrackableID>)
        /// The records that are not safe yet.
        case everything([StreamID: SeqSet])
    }

    /// The longest time without a connection.
    static let connectionPatience: Duration = .seconds(10)
    /// The longest time for one batch on a connection.
    static let batchPatience: Duration = .seconds(20)
    /// The longest time on a connection in which no record becomes safe. It exceeds the wait for recorders and the
    /// wait after a rejected batch.
    static let progressPatience: Duration = .seconds(70)
    /// The interval between two progress reports.
    static let progressInterval: Duration = .seconds(10)

    /// The request's number.
    let number: UInt64
    /// The number of records to send; 0 for a request for a batch.
    let total: Int
    private var goal: Goal
    private var sent = 0
    private var left: Int
    private var reported: (moment: MonotonicTime, left: Int)
    private var lastStep: MonotonicTime
    private var offlineSince: MonotonicTime?

    /// Creates a request that waits for a batch of each of these trackables.
    init(_ number: UInt64, batchOf trackables: Set<TrackableID>, at now: MonotonicTime) {
        self.init(number, .batch(trackables), total: 0, left: trackables.count, at: now)
    }

    /// Creates a request that waits for all of these records.
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

    /// The number of records that are no longer pending.
    var done: Int { self.total - self.left }

    /// The moment of the next progress report or of the failure.
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

    /// These records became safe.
    mutating func areSafe(_ seqs: SeqSet, of stream: StreamID) {
        guard case .everything(let streams) = self.goal, let own = streams[stream] else { return }
        self.sent += own.intersection(seqs).count
    }

    /// The broker acknowledged a batch of this many records.
    mutating func batchTaken(of id: TrackableID, count: Int) {
        guard case .batch(var trackables) = self.goal, trackables.remove(id) != nil else { return }
        self.sent += count
        self.goal = .batch(trackables)
    }

    /// Returns the verdict for the current state of the publisher.
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
                "cannot send the pending records: not connected to the broker. They are sent once it is reachable.")
        }
        guard let reason = view.reason else {
            return TrackingError(
                .refused,
                "cannot send the pending records: the broker acknowledged none for \(self.patience.components.seconds) s. They are tried again."
            )
        }
        return TrackingError(
            reason.code, "cannot send the pending records: \(reason.message). They are tried again.",
            reasonCode: reason.reasonCode)
    }
}
