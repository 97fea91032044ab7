import TrackingCore

/// The received messages of a connection whose acknowledgements are withheld until the messages are safe.
///
/// libmosquitto queues an acknowledgement with each message that it reads, and writes all queued acknowledgements or
/// none. Therefore nothing is written until every message that was read is safe.
struct Withholding {
    /// The number of messages that were read and are safe.
    private(set) var safe = 0
    /// The time from which an acknowledgement is withheld; `nil` when none is.
    private(set) var since: MonotonicTime?
    /// `true` while messages that were read during the last release are not safe. No further message is read then;
    /// otherwise a steady flow of messages would never be acknowledged.
    private(set) var isCatchingUp = false

    /// Notes the number of messages received so far.
    mutating func looked(at received: Int, now: MonotonicTime) {
        self.since = self.safe < received ? self.since ?? now : nil
    }

    /// Notes that the first `count` of `received` messages are safe.
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

    /// `true` while the connection is read. The broker's answer to a new connection is always read.
    var readsOn: Bool {
        guard self.link?.isAccepted != false else { return true }
        return !self.reading.isHeldBack && !(self.isWithholding && self.link?.withholding.isCatchingUp == true)
    }

    /// Releases the acknowledgements of messages that the role reports as safe.
    func release(through count: Int, connection: Int) {
        guard self.machine.isOnline, connection == self.accepted.connection else { return }
        self.link?.withholding.release(through: count, of: self.sink.receivedCount)
    }

    /// Ends a connection on which nothing was written for long, before the broker closes it. The broker delivers all
    /// unacknowledged messages again on the next connection.
    func endWithholding() {
        guard let since = self.link?.withholding.since, since.duration(to: self.now) > self.configuration.keepAlive / 2
        else { return }
        let reason = TrackingError(
            .connectionLost,
            "what came was not safe within \(self.configuration.keepAlive / 2): the broker delivers it again")
        self.closeLink()
        self.perform(self.machine.connectionLost(reason, now: self.now))
    }
}
