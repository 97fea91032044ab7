import TrackingCore

/// Decides what a sink answers to a publisher for which it takes the place of a broker.
///
/// The sink gets the points of the batches (topic `history`). A batch is acknowledged to the publisher only when the
/// sink has acknowledged all of its points, so the points remain in the log of the device until then. Every other
/// message is for other clients of a broker: it is acknowledged at once and goes nowhere.
struct SinkSession: Sendable {
    /// A batch of the publisher that the sink has not acknowledged yet.
    private struct Pending {
        let token: TransportToken
        let trackable: TrackableID
        var points: ArraySlice<Location>
    }

    /// A wait that the sink requests.
    private struct Pause {
        let end: MonotonicTime
        /// The reason of the failure with which the sink requested the wait.
        let reason: String
    }

    private let root: TopicRoot
    private var pending: [Pending] = []
    /// The trackables whose latest batch with points was rejected because of its content.
    private var rejected: Set<TrackableID> = []
    /// The reasons why the sink did not acknowledge the latest batches, by trackable.
    private var failures: [TrackableID: String] = [:]
    /// The latest wait that the sink requested; `nil` before the first one.
    private var pause: Pause?

    /// Creates the state before the first command.
    ///
    /// - Parameter root: The topic root of the publisher.
    init(root: TopicRoot) { self.root = root }

    /// The points to send next; `nil` while there are none. A batch without points tests if the sink accepts requests
    /// at all.
    var next: ForwardBatch? {
        self.pending.first.map { ForwardBatch(trackable: $0.trackable, points: Array($0.points)) }
    }

    /// The reason why the sink did not acknowledge the latest batch of a trackable; `nil` if it acknowledged the latest
    /// batch of each.
    var failure: String? { self.failures.min { $0.key < $1.key }?.value }

    /// Handles a command of the publisher, and returns the answers that do not depend on the sink. While the sink
    /// requests a wait, batches are rejected at once, and the publisher sends them again later.
    mutating func handle(_ command: TransportCommand, at now: MonotonicTime) -> [TransportEvent] {
        switch command {
        case .publish(let message, let token): self.published(message, token, at: now)
        case .subscribe(let filters, let token):
            [.subscribed(token, refusals: Array(repeating: nil, count: filters.count))]
        case .unsubscribe, .tryNow, .acknowledge, .close: []
        }
    }

    private mutating func published(
        _ message: OutgoingMessage, _ token: TransportToken, at now: MonotonicTime
    ) -> [TransportEvent] {
        switch self.root.topic(message.topic) {
        case .history(let id): return self.batch(message.payload, of: id, token, at: now)
        case .publisher:
            // The publisher relies on a broker only when it receives its own presence.
            let own = IncomingMessage(topic: message.topic, payload: message.payload[...], isRetained: false)
            return [.published(token, refusal: nil), .received(own)]
        default: return [.published(token, refusal: nil)]
        }
    }

    private mutating func batch(
        _ payload: [UInt8], of id: TrackableID, _ token: TransportToken, at now: MonotonicTime
    ) -> [TransportEvent] {
        do throws(TrackingError) {
            let batch = try HistoryCodec.decode(payload).batch
            let points = try batch.records.filter { $0.kind == .point }.map { record throws(TrackingError) in
                var point = try LocationCodec.decodeFeature(record.payload)
                point.stream = batch.stream
                return point
            }.filter { LivePosition.fault(of: $0, at: nil) == nil }
            // The publisher sends a batch without records to test if the records of a rejected one are the reason.
            let isTest = batch.records.isEmpty && self.rejected.contains(id)
            guard isTest || !points.isEmpty else { return [.published(token, refusal: nil)] }
            if let pause = self.pause, now < pause.end {
                self.failures[id] = pause.reason
                return [.published(token, refusal: Self.refusal(pause.reason))]
            }
            self.pending.append(Pending(token: token, trackable: id, points: points[...]))
            return []
        } catch {
            return [.published(token, refusal: error)]
        }
    }

    /// Handles the sink's answer to a request with the first points of ``next``.
    ///
    /// - Parameters:
    ///   - answer: The answer.
    ///   - count: The number of points in the request.
    ///   - now: The time of the answer.
    /// - Returns: The answers to the publisher.
    mutating func answered(_ answer: ForwardAnswer, count: Int, at now: MonotonicTime) -> [TransportEvent] {
        guard let batch = self.pending.first else { return [] }
        switch answer.verdict {
        case .acknowledged:
            self.rejected.remove(batch.trackable)
            self.failures[batch.trackable] = nil
            self.pending[0].points.removeFirst(min(count, batch.points.count))
            guard self.pending[0].points.isEmpty else { return [] }
            self.pending.removeFirst()
            return [.published(batch.token, refusal: nil)]
        case .rejectedContent:
            self.rejected.insert(batch.trackable)
            return self.failed(answer, code: Self.contentMayBeInvalid, at: now)
        case .failed:
            return self.failed(answer, code: nil, at: now)
        }
    }

    /// Rejects the batch of the latest request. If the sink requests a wait, all other batches are rejected too.
    private mutating func failed(
        _ answer: ForwardAnswer, code: UInt8?, at now: MonotonicTime
    ) -> [TransportEvent] {
        var refused = [self.pending.removeFirst()]
        if answer.requestedWait > .zero {
            self.pause = Pause(end: now.advanced(by: answer.requestedWait), reason: answer.reason)
            refused += self.pending
            self.pending = []
        }
        for batch in refused { self.failures[batch.trackable] = answer.reason }
        return refused.enumerated().map { index, batch in
            .published(batch.token, refusal: Self.refusal(answer.reason, code: index == 0 ? code : nil))
        }
    }

    /// The reason code "Implementation specific error" of MQTT 5. A server may also reject everything because of a fault
    /// of its own, so the publisher sends a batch without records before each further division of a rejected batch.
    private static let contentMayBeInvalid: UInt8 = 0x83

    private static func refusal(_ reason: String, code: UInt8? = nil) -> TrackingError {
        TrackingError(.refused, reason, reasonCode: code)
    }
}
