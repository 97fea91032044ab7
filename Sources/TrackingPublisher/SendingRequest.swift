import TrackingCore

/// Somebody who waits until records are sent: a batch of each trackable, or everything that waited when it was asked.
struct SendingRequest: Sendable {
    /// What is seen of the publisher.
    struct Sight: Hashable, Sendable {
        var isConnected: Bool
        /// What is in the log, by stream.
        var stored: [StreamID: SeqSet] = [:]
        /// The trackables of which something is on its way, or waits to be.
        var busy: Set<TrackableID> = []
        /// Why something is not taken.
        var reason: TrackingError?
    }

    enum Verdict: Hashable, Sendable {
        case waits
        /// There is something to tell.
        case progressed
        case ended(Result<Int, TrackingError>)
    }

    private enum Goal: Hashable, Sendable {
        /// These trackables owe a batch.
        case batch(Set<TrackableID>)
        /// These records are not safe yet.
        case everything([StreamID: SeqSet])
    }

    /// How long there may be no connection.
    static let connectionPatience: Duration = .seconds(10)
    /// How long one batch may take on a connection.
    static let batchPatience: Duration = .seconds(20)
    /// How long nothing of everything may become safe on a connection: longer than recorders are waited for, and than a batch
    /// that was refused waits.
    static let progressPatience: Duration = .seconds(70)
    /// How often there is something to tell.
    static let tellInterval: Duration = .seconds(10)

    /// The request's number.
    let number: UInt64
    /// How many records there are to send; of a request for a batch, 0.
    let total: Int
    private var goal: Goal
    private var sent = 0
    private var left: Int
    private var told: (moment: MonotonicTime, left: Int)
    private var lastStep: MonotonicTime
    private var offlineSince: MonotonicTime?

    /// Waits for a batch of each of these.
    init(_ number: UInt64, batchOf trackables: Set<TrackableID>, at now: MonotonicTime) {
        self.init(number, .batch(trackables), total: 0, left: trackables.count, at: now)
    }

    /// Waits for all of this.
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
        self.told = (now, left)
        self.lastStep = now
    }

    /// How many records do not wait any more.
    var done: Int { self.total - self.left }

    /// When there is something to tell, or it has taken too long.
    var nextDeadline: MonotonicTime? {
        let end = self.deadline
        guard case .everything = self.goal else { return end }
        return min(end, self.told.moment.advanced(by: Self.tellInterval))
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

    /// These records are safe.
    mutating func areSafe(_ seqs: SeqSet, of stream: StreamID) {
        guard case .everything(let streams) = self.goal, let own = streams[stream] else { return }
        self.sent += own.intersection(seqs).count
    }

    /// The broker took a batch of so many records.
    mutating func batchTaken(of id: TrackableID, count: Int) {
        guard case .batch(var trackables) = self.goal, trackables.remove(id) != nil else { return }
        self.sent += count
        self.goal = .batch(trackables)
    }

    /// What is to be told, now that things stand like this.
    mutating func looked(at sight: Sight, now: MonotonicTime) -> Verdict {
        let before = self.left
        self.narrow(to: sight)
        if self.left < before { self.lastStep = now }
        guard self.left > 0 else { return .ended(.success(self.sent)) }
        self.offlineSince = sight.isConnected ? nil : self.offlineSince ?? now
        guard now < self.deadline else { return .ended(.failure(self.failure(sight))) }
        guard case .everything = self.goal,
            self.left < self.told.left || now >= self.told.moment.advanced(by: Self.tellInterval)
        else { return .waits }
        self.told = (now, self.left)
        return .progressed
    }

    private mutating func narrow(to sight: Sight) {
        switch self.goal {
        case .batch(let trackables):
            // Where nothing waits any more, nothing is owed.
            let owing = trackables.intersection(sight.busy)
            self.goal = .batch(owing)
            self.left = owing.count
        case .everything(let streams):
            let waiting = streams.reduce(into: [:]) { waiting, stream in
                waiting[stream.key] = sight.stored[stream.key]?.intersection(stream.value)
            }.filter { !$0.value.isEmpty }
            self.goal = .everything(waiting)
            self.left = waiting.values.reduce(0) { $0 + $1.count }
        }
    }

    private func failure(_ sight: Sight) -> TrackingError {
        guard sight.isConnected else {
            return TrackingError(
                .brokerUnreachable, "not connected to the broker; what waits goes out when it is connected again")
        }
        guard let reason = sight.reason else {
            return TrackingError(
                .refused, "nothing was acknowledged for \(self.patience.components.seconds) s; it is tried on")
        }
        return TrackingError(reason.code, "not taken: \(reason.message); it is tried on", reasonCode: reason.reasonCode)
    }
}
