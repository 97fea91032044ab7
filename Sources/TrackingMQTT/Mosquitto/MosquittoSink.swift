import CMosquitto
import SystemLibrary
import TrackingCore

/// Stores what the libmosquitto callbacks of one connection report: answers, messages, errors. It makes no decisions.
///
/// Only the event loop's thread uses it: callbacks run inside `mosquitto_loop_read`, `_write` and `_misc`.
final class MosquittoSink {
    /// The broker's acceptance of the connection, from its CONNACK.
    struct Acceptance {
        let code: Int32
        let isSessionPresent: Bool
        let broker: BrokerLimits
    }

    /// The broker's limits on this connection.
    struct BrokerLimits {
        /// The number of publishes that may await an acknowledgement.
        var receiveMaximum = 65_535
    }

    var batch = InboundBatch()
    var inFlight = InFlight()
    /// The topics and filters to which the broker may respond by closing the connection; kept over all connections.
    var suspects = SuspectTopics()
    /// The answers to the last part of a subscription in several packets; `nil` while there are none.
    var partAnswers: [TrackingError?]?
    /// The publishes that no subscriber received, for ``MQTTClient``; `nil` if the caller does not need them.
    let unmatched: UnmatchedPublishes?
    var acceptance: Acceptance?
    /// The code that libmosquitto or the broker gave for the end of the connection.
    private(set) var disconnection: Int32?
    /// libmosquitto's last error message, which may contain OpenSSL's.
    var complaint: String?
    /// The rule of MQTT that an answer of the broker violated; `nil` while there is none.
    private(set) var violation: String?
    /// The number of messages received on this connection.
    private(set) var receivedCount = 0
    private var lastTopic = ""

    init(unmatched: UnmatchedPublishes?) { self.unmatched = unmatched }

    /// Clears the state of the previous connection.
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

    /// Stores a received message. A payload above the protocol's limit is cut to one byte above the limit, so that its
    /// decoder rejects it.
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

    /// Stores the end of the connection. libmosquitto may report one DISCONNECT twice: with its reason, and then
    /// without.
    func disconnected(code: Int32) {
        if self.disconnection == nil { self.disconnection = code }
    }

    /// Returns the topic as a string. Consecutive messages on one topic share one string.
    private func topic(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        let isSame = self.lastTopic.utf8.withContiguousStorageIfAvailable { last in
            strlen(text) == last.count && UnsafeRawBufferPointer(start: text, count: last.count).elementsEqual(last)
        }
        if isSame != true { self.lastTopic = String(cString: text) }
        return self.lastTopic
    }
}
