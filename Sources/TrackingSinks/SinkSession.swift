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

    private let root: TopicRoot
    private var pending: [Pending] = []
    /// `true` while the latest batch with points was rejected because of its content.
    private var isContentRejected = false

    /// Creates the state before the first command.
    ///
    /// - Parameter root: The topic root of the publisher.
    init(root: TopicRoot) { self.root = root }

    /// The points to send next; `nil` while there are none. A batch without points tests if the sink accepts requests
    /// at all.
    var next: ForwardBatch? {
        self.pending.first.map { ForwardBatch(trackable: $0.trackable, points: Array($0.points)) }
    }

    /// Handles a command of the publisher, and returns the answers that do not depend on the sink.
    mutating func handle(_ command: TransportCommand) -> [TransportEvent] {
        switch command {
        case .publish(let message, let token): self.published(message, token)
        case .subscribe(let filters, let token):
            [.subscribed(token, refusals: Array(repeating: nil, count: filters.count))]
        case .unsubscribe, .tryNow, .acknowledge, .close: []
        }
    }

    private mutating func published(_ message: OutgoingMessage, _ token: TransportToken) -> [TransportEvent] {
        switch self.root.topic(message.topic) {
        case .history(let id): return self.batch(message.payload, of: id, token)
        case .publisher:
            // The publisher relies on a broker only when it receives its own presence.
            let own = IncomingMessage(topic: message.topic, payload: message.payload[...], isRetained: false)
            return [.published(token, refusal: nil), .received(own)]
        default: return [.published(token, refusal: nil)]
        }
    }

    private mutating func batch(
        _ payload: [UInt8], of id: TrackableID, _ token: TransportToken
    ) -> [TransportEvent] {
        do throws(TrackingError) {
            let batch = try HistoryCodec.decode(payload).batch
            let points = try batch.records.filter { $0.kind == .point }.map { record throws(TrackingError) in
                var point = try LocationCodec.decodeFeature(record.payload)
                point.stream = batch.stream
                return point
            }.filter { LivePosition.fault(of: $0, at: nil) == nil }
            // The publisher sends a batch without records to test if the records of a rejected one are the reason.
            let isTest = batch.records.isEmpty && self.isContentRejected
            guard isTest || !points.isEmpty else { return [.published(token, refusal: nil)] }
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
    /// - Returns: The answers to the publisher.
    mutating func answered(_ answer: ForwardAnswer, count: Int) -> [TransportEvent] {
        guard let batch = self.pending.first else { return [] }
        switch answer.verdict {
        case .acknowledged:
            self.isContentRejected = false
            self.pending[0].points.removeFirst(min(count, batch.points.count))
            guard self.pending[0].points.isEmpty else { return [] }
            self.pending.removeFirst()
            return [.published(batch.token, refusal: nil)]
        case .rejectedContent:
            self.isContentRejected = true
            self.pending.removeFirst()
            return [.published(batch.token, refusal: Self.refusal(answer, code: Self.contentIsInvalid))]
        case .failed:
            self.pending.removeFirst()
            return [.published(batch.token, refusal: Self.refusal(answer, code: nil))]
        }
    }

    /// The reason code of MQTT 5 with which a broker rejects the content of a message.
    private static let contentIsInvalid: UInt8 = 0x99

    private static func refusal(_ answer: ForwardAnswer, code: UInt8?) -> TrackingError {
        TrackingError(.refused, answer.reason, reasonCode: code)
    }
}
