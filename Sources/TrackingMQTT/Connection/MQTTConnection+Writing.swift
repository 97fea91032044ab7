import CMosquitto
import TrackingCore

extension MQTTConnection {
    func takeCommands() {
        let (entries, isCancelled) = self.outbox.take()
        for entry in entries { self.take(entry) }
        if isCancelled { self.perform(self.machine.cancelled(now: self.now)) }
    }

    /// Accepts commands from the program that uses the connection. Publishes and subscriptions for an earlier
    /// connection are ignored.
    ///
    /// A request to connect now (`tryNow`), an acknowledgement and a request to close are handled at once, although
    /// earlier commands may still wait. The commands before a request to close are still performed, and those behind it
    /// are ignored.
    private func take(_ entry: Outbox.Entry) {
        if entry.commands.contains(.tryNow) { self.perform(self.machine.tryRequested(now: self.now)) }
        for case .acknowledge(let count, let connection) in entry.commands {
            self.release(through: count, connection: connection)
        }
        let isForThisConnection = entry.connection == self.accepted.connection && self.machine.isOnline
        guard let close = entry.commands.firstIndex(where: \.isClose), case .close(let limit) = entry.commands[close]
        else {
            if isForThisConnection, !self.machine.isClosing { self.sending.backlog.append(entry.commands) }
            return
        }
        if isForThisConnection, !self.machine.isClosing { self.sending.backlog.append(Array(entry.commands[..<close])) }
        self.perform(self.machine.closeRequested(within: limit, now: self.now))
    }

    /// Passes waiting commands to libmosquitto in order. It stops when the maximum number of publishes is unanswered.
    /// Further ones wait in this client's own queue, because libmosquitto's queue is slow when it is long.
    func performCommands() {
        guard self.machine.isOnline, let handle = self.link?.handle else { return }
        guard !self.machine.isRenewing else { return self.endToRenew() }
        while let command = self.sending.backlog.first {
            if self.sending.isHeldForSuspect {
                guard self.sink.inFlight.isEmpty else { return }
                self.sending.isHeldForSuspect = false
            }
            switch command {
            case .publish(let message, let token):
                guard self.sink.inFlight.publishCount < self.accepted.window else { return }
                guard self.publish(message, token, on: handle) else { return }
            case .subscribe(let filters, let token):
                guard self.subscribe(filters, token, on: handle) else { return }
            case .unsubscribe(let filters):
                try? handle.unsubscribe(filters.filter { MosquittoHandle.isValid(filter: $0) })
            case .tryNow, .close, .acknowledge:
                break  // handled when the command was accepted
            }
            self.sending.backlog.removeFirst()
        }
        if self.sink.inFlight.isEmpty { self.perform(self.machine.drained(now: self.now)) }
    }

    /// Ends the connection in order, because the client has new credentials, once the broker has answered everything
    /// that was sent and every received message is acknowledged.
    private func endToRenew() {
        guard self.sink.inFlight.isEmpty, !self.isWithholding else { return }
        self.perform(self.machine.drained(now: self.now))
    }

    /// Passes a message of the program to libmosquitto, unless it must not be sent.
    ///
    /// - Returns: `true` if the message was sent or refused; `false` if it must wait.
    private func publish(_ message: OutgoingMessage, _ token: TransportToken, on handle: MosquittoHandle) -> Bool {
        guard message.payload.count <= WireLimits.maximumPayloadBytes else {
            let error = TrackingError(
                .payloadTooLarge,
                "cannot publish the message: a payload may have at most \(WireLimits.maximumPayloadBytes) bytes; this one has \(message.payload.count) bytes"
            )
            self.sink.batch.append(.published(token, refusal: error))
            return true
        }
        switch self.sink.suspects.verdict(on: message.topic, now: self.now) {
        case .send:
            break
        case .sendAlone:
            guard self.sink.inFlight.isEmpty else { return false }
            self.sending.isHeldForSuspect = true
        case .refuse(let error):
            self.sink.batch.append(.published(token, refusal: error))
            return true
        }
        do throws(MosquittoResult) {
            guard !message.topic.utf8.contains(0) else { throw MosquittoResult(MOSQ_ERR_INVAL.rawValue) }
            let packet = try handle.publish(message)
            self.sink.inFlight.append(
                InFlight.Publish(packet: packet, token: token, topic: message.topic, sent: self.now))
        } catch {
            self.sink.batch.append(.published(token, refusal: error.refusal(of: "the message")))
        }
        return true
    }

    /// Subscribes to topic filters for the program.
    ///
    /// - Returns: `true` if each filter was sent or refused; `false` if a part of the subscription must wait.
    private func subscribe(_ filters: [String], _ token: TransportToken, on handle: MosquittoHandle) -> Bool {
        if self.sending.split != nil || Self.areLong(filters) || self.hasSuspect(filters) {
            return self.subscribeInParts(filters, token, on: handle)
        }
        let refusals = filters.map { self.refusal(ofFilter: $0) }
        let valid = zip(filters, refusals).filter { $0.1 == nil }.map(\.0)
        guard !valid.isEmpty else {
            self.sink.batch.append(.subscribed(token, refusals: refusals))
            return true
        }
        do throws(MosquittoResult) {
            let packet = try handle.subscribe(valid)
            self.sink.inFlight.append(
                InFlight.Subscription(
                    packet: packet, token: token, sent: self.now, refusals: refusals, filters: valid))
        } catch {
            if error.isTooLarge, valid.count > 1 {
                self.sending.split = SplitSubscription(bytes: Self.bytes(of: valid) / 2)
                return self.subscribeInParts(filters, token, on: handle)
            }
            let refusal = error.refusal(of: "the subscription")
            self.sink.batch.append(.subscribed(token, refusals: refusals.map { $0 ?? refusal }))
        }
        return true
    }

    func write(_ readiness: Poller.Readiness) {
        guard let link = self.link, link.isUp, let handle = link.handle, handle.wantsWrite, !self.isWithholding else {
            return
        }
        // The kernel reports when a full socket accepts more bytes.
        if link.interest?.contains(.write) == true, !readiness.contains(.write) { return }
        if case .ended(let result) = handle.write() { self.handleEnded(result) }
    }

    func sendGoodbye() {
        guard let handle = self.link?.handle else { return }
        // A DISCONNECT would send the withheld acknowledgements too, so the connection ends without one.
        guard !self.isWithholding else {
            self.closeLink()
            return self.perform(self.machine.goodbyeSent(now: self.now))
        }
        handle.disconnect()
        if case .ended(let result) = handle.write() { self.handleEnded(result) }
    }

    /// Registers at the poller the socket events that the connection now waits for: readable, writable, or both. Does
    /// nothing if they have not changed.
    func watchSocket() {
        guard let link = self.link, let handle = link.handle, handle.isOpen else { return }
        var interest: Poller.Readiness = []
        if let tls = handle.tls, !tls.isEstablished {
            interest = tls.wantsWrite ? [.read, .write] : .read
        } else if !link.isUp {
            interest = [.read, .write]
        } else {
            if self.readsOn { interest.insert(.read) }
            if handle.wantsWrite, !self.isWithholding { interest.insert(.write) }
        }
        guard interest != link.interest else { return }
        self.loop.poller.watch(handle.descriptor, key: self.key, for: interest, isNew: link.interest == nil)
        self.link?.interest = interest
    }
}

extension TransportCommand {
    fileprivate var isClose: Bool { if case .close = self { true } else { false } }
}
