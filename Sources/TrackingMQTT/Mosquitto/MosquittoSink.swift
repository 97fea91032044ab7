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
    var acceptance: Acceptance?
    /// What libmosquitto or the broker gave as the reason of the end.
    private(set) var disconnection: Int32?
    /// The last complaint of libmosquitto: OpenSSL's own words among them.
    var complaint: String?
    private var lastTopic = ""

    /// Forgets what belonged to the connection before.
    func reset() {
        self.inFlight.removeAll()
        self.acceptance = nil
        self.disconnection = nil
        self.complaint = nil
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
        // One byte above the protocol's limit is enough for its reader to refuse it, however large it is.
        let length = min(Int(message.pointee.payloadlen), WireLimits.maximumPayloadBytes + 1)
        self.batch.append(
            topic: self.topic(message.pointee.topic),
            payload: UnsafeRawBufferPointer(start: message.pointee.payload, count: length),
            isRetained: message.pointee.retain,
            properties: properties == nil ? MessageProperties() : PropertyList.read(properties))
    }

    func published(packet: Int32, code: Int32) {
        guard let token = self.inFlight.takePublish(packet) else { return }
        self.batch.append(.published(token, refusal: ReasonCode.refusal(code, of: "the message")))
    }

    func subscribed(packet: Int32, codes: UnsafeBufferPointer<Int32>) {
        guard let subscription = self.inFlight.takeSubscription(packet) else { return }
        var answers = codes.makeIterator()
        let refusals = subscription.refusals.map { refusal -> TrackingError? in
            refusal ?? answers.next().flatMap { ReasonCode.refusal($0, of: "the subscription") }
        }
        self.batch.append(.subscribed(subscription.token, refusals: refusals))
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
