import CMosquitto
import Logging
import TrackingCore

/// A subscription of which each filter is sent by itself, because one of them is suspected.
struct SplitSubscription {
    /// The answers so far, in the order of the filters.
    var refusals: [TrackingError?] = []
    /// Whether the next filter was sent.
    var isSent = false
}

/// Topics and filters that the broker may answer by closing the connection.
extension MQTTConnection {
    func hasSuspect(_ filters: [String]) -> Bool {
        !self.sink.suspects.isEmpty
            && filters.contains { self.sink.suspects.verdict(on: $0, now: self.now) == .sendAlone }
    }

    /// Why a filter is not sent; `nil` when it is.
    func refusal(ofFilter filter: String) -> TrackingError? {
        guard MosquittoHandle.isValid(filter: filter) else {
            return TrackingError(.invalidName, "'\(filter.prefix(200))' is not a filter that MQTT allows")
        }
        guard case .refuse(let error) = self.sink.suspects.verdict(on: filter, now: self.now) else { return nil }
        return error
    }

    /// Called again with each answer until the last is there.
    ///
    /// - Returns: Whether it was.
    func subscribeOneByOne(_ filters: [String], _ token: TransportToken, on handle: MosquittoHandle) -> Bool {
        var split = self.split ?? SplitSubscription()
        if split.isSent, let answer = self.sink.partAnswer {
            split.refusals.append(answer)
            split.isSent = false
        }
        self.sink.partAnswer = nil
        while split.refusals.count < filters.count {
            let filter = filters[split.refusals.count]
            if !split.isSent, let refusal = self.refusal(ofFilter: filter) {
                split.refusals.append(refusal)
                continue
            }
            self.split = split
            guard !split.isSent, self.sink.inFlight.isEmpty else { return false }
            do throws(MosquittoResult) {
                let packet = try handle.subscribe([filter])
                self.sink.inFlight.append(
                    InFlight.Subscription(
                        packet: packet, token: token, sent: self.now, refusals: [nil], filters: [filter], isPart: true))
                split.isSent = true
            } catch {
                split.refusals.append(error.refusal(of: "the subscription"))
            }
        }
        self.split = nil
        self.sink.batch.append(.subscribed(token, refusals: split.refusals))
        return true
    }

    /// A connection that stood came to its end: what the broker left unanswered may be why.
    func suspectUnanswered(_ result: MosquittoResult) {
        guard result.isByPeer, self.sink.disconnection.map(ReasonCode.mayBeAnAnswer) ?? true, !self.machine.isClosing
        else { return }
        for name in self.sink.suspects.closed(unanswered: self.sink.inFlight.names, now: self.now) {
            self.configuration.logger?.error(
                "set aside: the broker closes the connection upon it",
                metadata: ["client": "\(self.configuration.client)", "topic": "\(name)"])
        }
    }
}
