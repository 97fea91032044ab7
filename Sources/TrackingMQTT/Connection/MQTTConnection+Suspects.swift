import CMosquitto
import Logging
import TrackingCore

/// A subscription that is sent in several SUBSCRIBE packets, one after the other. This is necessary when the list of
/// filters is long or the broker accepts only smaller packets. It is also necessary when a filter is suspected: the
/// broker may have closed the connection because of it. A suspected filter is sent alone.
struct SplitSubscription {
    /// The largest number of bytes of topic filters in one SUBSCRIBE packet: 8 KB.
    static let maximumBytes = 8_192

    /// The results of the filters so far, in the order of the filters: `nil` for a filter that the broker granted,
    /// otherwise the reason why the broker or this client refused the filter.
    var refusals: [TrackingError?] = []
    /// `true` while a SUBSCRIBE packet of the subscription was sent and the broker has not answered the packet.
    var isSent = false
    /// The largest number of bytes of filters in one packet for this subscription. It is reduced when a packet is too
    /// large for the broker.
    var bytes = Self.maximumBytes
}

/// The handling of suspects: topics and filters because of which the broker may have closed the connection.
extension MQTTConnection {
    func hasSuspect(_ filters: [String]) -> Bool {
        !self.sink.suspects.isEmpty
            && filters.contains { self.sink.suspects.verdict(on: $0, now: self.now) == .sendAlone }
    }

    /// Returns the reason for which the client does not send this filter to the broker now: MQTT forbids it, or the
    /// broker closed the connection three times in a row after it, so that the filter is not used for a while. `nil`
    /// for a filter that may be sent.
    func refusal(ofFilter filter: String) -> TrackingError? {
        guard MosquittoHandle.isValid(filter: filter) else {
            return TrackingError(
                .invalidName,
                "cannot subscribe to '\(filter.prefix(200))': MQTT does not allow this topic filter. Correct it")
        }
        guard case .refuse(let error) = self.sink.suspects.verdict(on: filter, now: self.now) else { return nil }
        return error
    }

    /// Sends the next SUBSCRIBE packet of a subscription that needs several. Call this method again after the broker's
    /// answer to each packet.
    ///
    /// - Returns: `true` once the whole subscription was answered, and its result was delivered.
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

    /// Returns the filters of the next SUBSCRIBE packet: as many as fit into `limit` bytes. A filter that is suspected,
    /// because the broker may have closed the connection after it, is returned alone. The list ends before a filter
    /// that must not be sent.
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

    /// Returns `true` for a list of filters that is too long for one SUBSCRIBE packet. Brokers limit the size of
    /// packets, and close the connection on larger ones.
    static func areLong(_ filters: [String]) -> Bool { self.bytes(of: filters) > SplitSubscription.maximumBytes }

    /// Returns the number of bytes that filters need in a SUBSCRIBE packet, including three bytes for each filter's
    /// length and options.
    static func bytes(of filters: [String]) -> Int { filters.reduce(0) { $0 + $1.utf8.count + 3 } }

    /// Suspects the topics and filters that were unanswered when the broker closed the connection, because one of them
    /// may be the reason. Does nothing when the close has another reason.
    func suspectUnanswered(_ result: MosquittoResult) {
        guard result.isByPeer, self.sink.disconnection.map(ReasonCode.mayBeAnAnswer) ?? true, !self.machine.isClosing
        else { return }
        for name in self.sink.suspects.closed(unanswered: self.sink.inFlight.names, now: self.now) {
            self.configuration.logger?.error(
                "Client pauses the use of a topic or filter, because the broker closed the connection three times while a request for it was unanswered: the client tries again after 30 s, then after growing waits of up to 15 min. If the broker's rules forbid the topic, grant the right",
                metadata: ["client": "\(self.configuration.client)", "topic": "\(name)"])
        }
    }
}
