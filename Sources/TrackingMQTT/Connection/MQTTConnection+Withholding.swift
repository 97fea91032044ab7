import TrackingCore

/// The state of a connection whose acknowledgements of received messages are withheld until the messages are stored
/// safely.
///
/// libmosquitto queues an acknowledgement for each message that it reads, and writes all queued acknowledgements or
/// none. Therefore nothing is written until every message that was read is safe.
struct Withholding {
    /// The number of received messages that are stored safely, counted from the begin of the connection.
    private(set) var safe = 0
    /// The time since which an acknowledgement has been withheld; `nil` when none is.
    private(set) var since: MonotonicTime?
    /// `true` while messages that were read during the last release of acknowledgements are not safe. No further
    /// message is read then; otherwise a steady flow of messages would never be acknowledged.
    private(set) var isCatchingUp = false

    /// Updates the state after reading: `received` messages were received on the connection so far.
    mutating func looked(at received: Int, now: MonotonicTime) {
        self.since = self.safe < received ? self.since ?? now : nil
    }

    /// Updates the state after the role reported that the first `count` of the `received` messages are stored safely.
    mutating func release(through count: Int, of received: Int) {
        self.safe = max(self.safe, min(count, received))
        self.isCatchingUp = self.safe < received
        self.since = self.isCatchingUp ? self.since : nil
    }
}

extension MQTTConnection {
    /// `true` while acknowledgements are withheld and nothing may be written.
    var isWithholding: Bool {
        guard self.configuration.withholdsAcknowledgements, let link = self.link else { return false }
        return self.sink.receivedCount > link.withholding.safe
    }

    /// `true` while messages may be read from the connection. The broker's answer to a new connection is always read.
    var readsOn: Bool {
        guard self.link?.isAccepted != false else { return true }
        return !self.reading.isHeldBack && !(self.isWithholding && self.link?.withholding.isCatchingUp == true)
    }

    /// Releases the acknowledgements of the first `count` messages of a connection, which the role reports as stored
    /// safely.
    func release(through count: Int, connection: Int) {
        guard self.machine.isOnline, connection == self.accepted.connection else { return }
        self.link?.withholding.release(through: count, of: self.sink.receivedCount)
    }

    /// Ends a connection on which nothing was written for long because of a withheld acknowledgement, before the broker
    /// closes it. The broker delivers all unacknowledged messages again on the next connection.
    func endWithholding() {
        guard let since = self.link?.withholding.since, since.duration(to: self.now) > self.configuration.keepAlive / 2
        else { return }
        let reason = TrackingError(
            .connectionLost,
            """
            connection ended by this client: received messages were not stored safely within \
            \(self.configuration.keepAlive / 2). The broker delivers them again on the next connection
            """)
        self.closeLink()
        self.perform(self.machine.connectionLost(reason, now: self.now))
    }
}
