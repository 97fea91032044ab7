import TrackingCore

/// The state of a connection on which received messages are acknowledged only after the program has stored them safely.
///
/// libmosquitto queues the acknowledgement of each message that it reads, and can only write all queued
/// acknowledgements or none. Therefore nothing is written until every message that was read is stored.
struct Withholding {
    /// The number of received messages, from the begin of the connection, that the program has stored safely.
    private(set) var safe = 0
    /// The time since which the acknowledgement of some received message has been withheld; `nil` when every received
    /// message is stored safely.
    private(set) var since: MonotonicTime?
    /// `true` when the program has reported messages as stored, but the connection has read further messages that are
    /// not stored yet. The connection then reads no more until these are stored too. Otherwise, with a steady flow of
    /// messages, no acknowledgement could ever be written.
    private(set) var isCatchingUp = false

    /// Notes the present time as the beginning of a withheld acknowledgement, if some received message is not stored
    /// safely and no beginning is noted yet. Removes the noted time if all messages are stored.
    ///
    /// - Parameter received: The number of messages received on this connection so far.
    mutating func looked(at received: Int, now: MonotonicTime) {
        self.since = self.safe < received ? self.since ?? now : nil
    }

    /// Registers that the program has stored the first `count` messages of the connection safely.
    ///
    /// - Parameter received: The number of messages received on this connection so far.
    mutating func release(through count: Int, of received: Int) {
        self.safe = max(self.safe, min(count, received))
        self.isCatchingUp = self.safe < received
        self.since = self.isCatchingUp ? self.since : nil
    }
}

extension MQTTConnection {
    /// `true` while a received message is not stored safely, on a connection that withholds acknowledgements. Nothing
    /// may be written to the broker then.
    var isWithholding: Bool {
        guard self.configuration.withholdsAcknowledgements, let link = self.link else { return false }
        return self.sink.receivedCount > link.withholding.safe
    }

    /// `true` while bytes may be read from the broker. Always `true` until the broker has accepted the connection.
    /// Afterwards `false` while the program has too many unread events, or while withheld acknowledgements must be
    /// released first: to catch up, or to end the connection in order because of new credentials.
    var readsOn: Bool {
        guard self.link?.isAccepted != false else { return true }
        let mustRelease = self.link?.withholding.isCatchingUp == true || self.machine.isRenewing
        return !self.reading.isHeldBack && !(self.isWithholding && mustRelease)
    }

    /// Permits the acknowledgement of the first `count` messages of a connection, because the program reports them as
    /// stored safely. Ignored for an earlier connection.
    func release(through count: Int, connection: Int) {
        guard self.machine.isOnline, connection == self.accepted.connection else { return }
        self.link?.withholding.release(through: count, of: self.sink.receivedCount)
    }

    /// Ends the connection if an acknowledgement was withheld for longer than half of the keep-alive time. Nothing, not
    /// even a ping, could be written in this time, so the broker would soon end it. The broker delivers unacknowledged
    /// messages again on the next connection.
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
