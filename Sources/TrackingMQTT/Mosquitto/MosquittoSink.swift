import CMosquitto
import SystemLibrary
import TrackingCore

/// Stores the reports of the libmosquitto callbacks of one client's connections: the broker's answers, messages and
/// errors. The sink makes no decisions.
///
/// Only the event loop's thread uses it. The callbacks run inside `mosquitto_loop_read`, `_write` and `_misc`.
final class MosquittoSink {
    /// The content of the broker's answer to a connect (CONNACK): its code, and its limits. The code 0 means
    /// acceptance.
    struct Acceptance {
        let code: Int32
        let isSessionPresent: Bool
        let broker: BrokerLimits
    }

    /// The limits that the broker announced for this connection in its CONNACK.
    struct BrokerLimits {
        /// The largest number of publishes that may be sent to the broker before it has acknowledged the first of them
        /// (the broker's receive maximum).
        var receiveMaximum = 65_535
    }

    var batch = InboundBatch()
    var inFlight = InFlight()
    /// The topics and filters because of which the broker may have closed a connection. They are remembered over all
    /// connections of the client.
    var suspects = SuspectTopics()
    /// The broker's answers to the filters of the last SUBSCRIBE packet, for a subscription that is sent in several
    /// packets. An element is `nil` for a filter that was granted. The list is `nil` while the packet is not answered.
    var partAnswers: [TrackingError?]?
    /// The published messages that the broker accepted although no client had subscribed to their topics, for
    /// ``MQTTClient``; `nil` if they are not collected.
    let unmatched: UnmatchedPublishes?
    var acceptance: Acceptance?
    /// The code with which the connection ended, from libmosquitto or from the broker's DISCONNECT; `nil` while it has
    /// not ended.
    private(set) var disconnection: Int32?
    /// The last error message of libmosquitto, which may contain a message of OpenSSL; `nil` for none.
    var complaint: String?
    /// The rule of MQTT that an answer of the broker violated on this connection; `nil` if none was violated.
    private(set) var violation: String?
    /// The number of messages received on this connection.
    private(set) var receivedCount = 0
    private var lastTopic = ""

    init(unmatched: UnmatchedPublishes?) { self.unmatched = unmatched }

    /// Clears the data of the previous connection, before the next attempt to connect. Suspected topics and events that
    /// were not delivered yet remain.
    func reset() {
        self.inFlight.removeAll()
        self.receivedCount = 0
        self.partAnswers = nil
        self.acceptance = nil
        self.disconnection = nil
        self.complaint = nil
        self.violation = nil
    }

    static func from(_ context: UnsafeMutableRawPointer?) -> MosquittoSink {
        // The handle that owns the callbacks retains its sink for as long as they can be called.
        Unmanaged<MosquittoSink>.fromOpaque(context!).takeUnretainedValue()
    }

    func accepted(code: Int32, flags: Int32, properties: OpaquePointer?) {
        var limits = BrokerLimits()
        if let receiveMaximum = PropertyList.receiveMaximum(properties) { limits.receiveMaximum = receiveMaximum }
        self.acceptance = Acceptance(code: code, isSessionPresent: flags & 1 != 0, broker: limits)
    }

    /// Stores a received message. A payload above the protocol's limit is cut to one byte above the limit, so that the
    /// later decoder still recognizes it as too large.
    func received(_ message: UnsafePointer<mosquitto_message>, properties: OpaquePointer?) {
        self.receivedCount += 1
        // With one byte above the limit, the decoder rejects the payload, whatever its original size was.
        let length = min(Int(message.pointee.payloadlen), WireLimits.maximumPayloadBytes + 1)
        self.batch.append(
            topic: self.topic(message.pointee.topic),
            payload: UnsafeRawBufferPointer(start: message.pointee.payload, count: length),
            isRetained: message.pointee.retain,
            properties: properties == nil ? MessageProperties() : PropertyList.read(properties))
    }

    func published(packet: Int32, code: Int32) {
        guard let publish = self.inFlight.takePublish(packet) else { return }
        if !self.suspects.isEmpty { self.suspects.answered(publish.topic) }
        if code == ReasonCode.noMatchingSubscribers { self.unmatched?.insert(publish.token) }
        self.batch.append(.published(publish.token, refusal: ReasonCode.refusal(code, of: "the message")))
    }

    func subscribed(packet: Int32, codes: UnsafeBufferPointer<Int32>) {
        guard let subscription = self.inFlight.takeSubscription(packet) else { return }
        guard codes.count == subscription.filters.count else {
            self.violation = "SUBACK has \(codes.count) codes for \(subscription.filters.count) filters"
            return
        }
        if !self.suspects.isEmpty { for filter in subscription.filters { self.suspects.answered(filter) } }
        var answers = codes.makeIterator()
        let refusals = subscription.refusals.map { refusal -> TrackingError? in
            refusal ?? answers.next().flatMap { ReasonCode.refusal($0, of: "the subscription") }
        }
        if subscription.isPart {
            self.partAnswers = refusals
        } else {
            self.batch.append(.subscribed(subscription.token, refusals: refusals))
        }
    }

    /// Stores the code of the connection's end. Only the first report counts, because libmosquitto may report one
    /// DISCONNECT twice: first with the broker's reason, and then without it.
    func disconnected(code: Int32) {
        if self.disconnection == nil { self.disconnection = code }
    }

    /// Returns a message's topic as a string. Consecutive messages with the same topic share one string.
    private func topic(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        let isSame = self.lastTopic.utf8.withContiguousStorageIfAvailable { last in
            strlen(text) == last.count && UnsafeRawBufferPointer(start: text, count: last.count).elementsEqual(last)
        }
        if isSame != true { self.lastTopic = String(cString: text) }
        return self.lastTopic
    }
}
