import TrackingCore

/// Which messages of a connection the broker does not know to be safe yet.
///
/// libmosquitto queues an acknowledgement with each message that it reads, and writes all of them or none. So either
/// everything that was read is safe, or nothing is written.
struct Withholding {
    /// So many of the messages that were read are safe.
    private(set) var safe = 0
    /// Since when something is withheld; `nil` when nothing is.
    private(set) var since: MonotonicTime?
    /// What was read while others became safe is waited for before more is read: else a steady flow would never be
    /// acknowledged.
    private(set) var isCatchingUp = false

    /// Reading has come to this number.
    mutating func looked(at received: Int, now: MonotonicTime) {
        self.since = self.safe < received ? self.since ?? now : nil
    }

    /// The first `count` of `received` messages are safe.
    mutating func release(through count: Int, of received: Int) {
        self.safe = max(self.safe, min(count, received))
        self.isCatchingUp = self.safe < received
        self.since = self.isCatchingUp ? self.since : nil
    }
}

extension MQTTConnection {
    /// Whether nothing may be written now.
    var isWithholding: Bool {
        guard self.configuration.withholdsAcknowledgements, let link = self.link else { return false }
        return self.sink.receivedCount > link.withholding.safe
    }

    /// Whether what has come is read. The broker's answer to a new connection is in any case.
    var readsOn: Bool {
        guard self.link?.isAccepted != false else { return true }
        return !self.isHeldBack && !(self.isWithholding && self.link?.withholding.isCatchingUp == true)
    }

    /// The role says that messages are safe.
    func release(through count: Int, connection: Int) {
        guard self.machine.isOnline, connection == self.connection else { return }
        self.link?.withholding.release(through: count, of: self.sink.receivedCount)
    }

    /// Nothing was written for long: before the broker gives the connection up, it is ended, and everything that was not
    /// acknowledged comes again on the next.
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
