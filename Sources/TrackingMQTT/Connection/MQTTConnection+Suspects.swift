import CMosquitto
import Logging
import TrackingCore

/// A subscription that is sent in several SUBSCRIBE packets: it is long, the broker accepts only smaller packets, or
/// one of its filters is suspected to make the broker close the connection and is therefore sent alone.
struct SplitSubscription {
    /// The largest number of filter bytes in one packet, for any broker.
    static let maximumBytes = 8_192

    /// The broker's answers so far, in the order of the filters: `nil` for a granted filter, else the refusal.
    var refusals: [TrackingError?] = []
    /// `true` while a part of the subscription was sent and the broker has not answered it.
    var isSent = false
    /// The largest number of filter bytes in one packet that this broker is believed to accept.
    var bytes = Self.maximumBytes
}

/// Topics and filters to which the broker may respond by closing the connection.
extension MQTTConnection {
    func hasSuspect(_ filters: [String]) -> Bool {
        !self.sink.suspects.isEmpty
            && filters.contains { self.sink.suspects.verdict(on: $0, now: self.now) == .sendAlone }
    }

    /// Returns the reason why a filter is not sent to the broker; `nil` for a filter that may be sent.
    func refusal(ofFilter filter: String) -> TrackingError? {
        guard MosquittoHandle.isValid(filter: filter) else {
            return TrackingError(
                .invalidName,
                "cannot subscribe to '\(filter.prefix(200))': MQTT does not allow this topic filter. Correct it")
        }
        guard case .refuse(let error) = self.sink.suspects.verdict(on: filter, now: self.now) else { return nil }
        return error
    }

    /// Sends the next part of a subscription that needs several packets. The method is called again after each part's
    /// answers.
    ///
    /// - Returns: `true` once the last answer has arrived.
    func subscribeInParts(_ filters: [String], _ token: TransportToken, on handle: MosquittoHandle) -> Bool {
        var split = self.sending.split ?? SplitSubscription()
        if split.isSent, let answers = self.sink.partAnswers {
            split.refusals += answers
            split.isSent = false
        }
        self.sink.partAnswers = nil
        while split.refusals.count < filters.count {
            let waiting = filters[split.refusals.count...]
            if !split.isSent, let filter = waiting.first, let refusal = self.refusal(ofFilter: filter) {
                split.refusals.append(refusal)
                continue
            }
            self.sending.split = split
            guard !split.isSent, self.sink.inFlight.isEmpty else { return false }
            let part = self.part(of: waiting, bytes: split.bytes)
            do throws(MosquittoResult) {
                let packet = try handle.subscribe(part)
                self.sink.inFlight.append(
                    InFlight.Subscription(
                        packet: packet, token: token, sent: self.now, refusals: part.map { _ in nil }, filters: part,
                        isPart: true))
                split.isSent = true
            } catch {
                if error.isTooLarge, part.count > 1 {
                    split.bytes = Self.bytes(of: part) / 2
                    continue
                }
                let refusal = error.refusal(of: "the subscription")
                split.refusals += part.map { _ in refusal }
            }
        }
        self.sending.split = nil
        self.sink.batch.append(.subscribed(token, refusals: split.refusals))
        return true
    }

    /// Returns the filters of the next SUBSCRIBE packet, at most `limit` bytes, up to the first filter that is
    /// suspected or refused.
    private func part(of filters: ArraySlice<String>, bytes limit: Int) -> [String] {
        let first = Array(filters.prefix(1))
        guard !self.hasSuspect(first) else { return first }
        var bytes = Self.bytes(of: first)
        let further = filters.dropFirst().prefix { filter in
            bytes += Self.bytes(of: [filter])
            return bytes <= limit && !self.hasSuspect([filter]) && self.refusal(ofFilter: filter) == nil
        }
        return first + further
    }

    /// Returns `true` for a list of filters that needs several packets. Brokers limit a packet's size, and close the
    /// connection on a larger one.
    static func areLong(_ filters: [String]) -> Bool { self.bytes(of: filters) > SplitSubscription.maximumBytes }

    /// Returns the number of bytes of filters in a SUBSCRIBE packet, each with its length and its options.
    static func bytes(of filters: [String]) -> Int { filters.reduce(0) { $0 + $1.utf8.count + 3 } }

    /// Registers the topics and filters that the broker left unanswered when it closed an accepted connection, as
    /// possible reasons for the close.
    func suspectUnanswered(_ result: MosquittoResult) {
        guard result.isByPeer, self.sink.disconnection.map(ReasonCode.mayBeAnAnswer) ?? true, !self.machine.isClosing
        else { return }
        for name in self.sink.suspects.closed(unanswered: self.sink.inFlight.names, now: self.now) {
            self.configuration.logger?.error(
                "Topic or filter set aside: the broker closes the connection when it is used",
                metadata: ["client": "\(self.configuration.client)", "topic": "\(name)"])
        }
    }
}
