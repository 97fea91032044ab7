import CMosquitto
import Glibc
import TrackingCore

/// Where the callbacks of one connection write down what they were told. They decide nothing.
///
/// It is touched on the loop's thread alone: callbacks run inside `mosquitto_loop_read`, `_write` and `_misc`.
final class MosquittoSink {
    /// A CONNACK.
    struct Acceptance {
        let code: Int32
        let isSessionPresent: Bool
        let broker: BrokerLimits
    }

    /// What the broker allows on this connection.
    struct BrokerLimits {
        /// How many publishes may be under way.
        var receiveMaximum = 65_535
    }

    var batch = InboundBatch()
    var inFlight = InFlight()
    /// What the broker may close the connection upon; outlives connections.
    var suspects = SuspectTopics()
    /// The answers to the last part of a subscription that is sent in parts; `nil` when there are none yet.
    var partAnswers: [TrackingError?]?
    /// Where publishes that reached nobody are noted; `nil` when nobody asks.
    let unheard: UnheardPublishes?
    var acceptance: Acceptance?
    /// What libmosquitto or the broker gave as the reason of the end.
    private(set) var disconnection: Int32?
    /// The last complaint of libmosquitto: OpenSSL's own words among them.
    var complaint: String?
    /// The rule of MQTT that an answer of the broker violated; `nil` while none did.
    private(set) var violation: String?
    /// How many messages came on this connection.
    private(set) var receivedCount = 0
    private var lastTopic = ""

    init(unheard: UnheardPublishes?) { self.unheard = unheard }

    /// Forgets what belonged to the connection before.
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
        // The handle that owns the callbacks keeps its sink alive for as long as they can be called.
        Unmanaged<MosquittoSink>.fromOpaque(context!).takeUnretainedValue()
    }

    func accepted(code: Int32, flags: Int32, properties: OpaquePointer?) {
        var limits = BrokerLimits()
        if let receiveMaximum = PropertyList.receiveMaximum(properties) { limits.receiveMaximum = receiveMaximum }
        self.acceptance = Acceptance(code: code, isSessionPresent: flags & 1 != 0, broker: limits)
    }

    /// A payload above the protocol's limit is cut to one byte more than that.
    func received(_ message: UnsafePointer<mosquitto_message>, properties: OpaquePointer?) {
        self.receivedCount += 1
        // One byte above the protocol's limit is enough for its reader to refuse it, however large it is.
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
        if code == ReasonCode.noMatchingSubscribers { self.unheard?.insert(publish.token) }
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

    /// libmosquitto may say so twice for one DISCONNECT: with its reason, and then without.
    func disconnected(code: Int32) {
        if self.disconnection == nil { self.disconnection = code }
    }

    /// A run of messages on one topic shares one string.
    private func topic(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        let isSame = self.lastTopic.utf8.withContiguousStorageIfAvailable { last in
            strlen(text) == last.count && UnsafeRawBufferPointer(start: text, count: last.count).elementsEqual(last)
        }
        if isSame != true { self.lastTopic = String(cString: text) }
        return self.lastTopic
    }
}
