import CMosquitto
import SystemLibrary
import TrackingCore

extension MQTTConnection {
    func read(_ readiness: Poller.Readiness) {
        guard let handle = self.link?.handle, !readiness.isEmpty || handle.tls?.hasPending == true else { return }
        if self.link?.isUp == false {
            guard self.continueConnecting(handle, readiness) else { return }
        }
        // A broken socket is always read to its end. Otherwise the kernel would report it repeatedly.
        if self.readsOn || !readiness.isDisjoint(with: .failed) { self.readOn(handle) }
    }

    /// Continues to connect the socket, and then continues the TLS handshake if TLS is used.
    ///
    /// - Returns: `true` once the connection is ready for MQTT.
    private func continueConnecting(_ handle: MosquittoHandle, _ readiness: Poller.Readiness) -> Bool {
        if !readiness.isDisjoint(with: .failed) {
            let error = godwit_socket_error(handle.descriptor)
            // TLS may have left a reason to read before the broker reset the connection.
            if error != 0, handle.tls == nil || error != ECONNRESET {
                self.handleEnded(MosquittoResult(MOSQ_ERR_ERRNO.rawValue, systemError: error))
                return false
            }
        }
        if let tls = handle.tls {
            // libmosquitto continues the handshake when it is asked to read, even if TLS waits for writing.
            if case .ended(let result) = handle.read() {
                self.handleEnded(result)
                return false
            }
            if !tls.isEstablished {
                // libmosquitto treats the end of the stream as "not yet".
                if !readiness.isDisjoint(with: [.read, .failed]), godwit_is_at_end(handle.descriptor) {
                    self.handleEnded(MosquittoResult(MOSQ_ERR_CONN_LOST.rawValue))
                }
                return false
            }
        } else if readiness.isDisjoint(with: [.write, .read]) {
            return false
        }
        self.link?.isUp = true
        return true
    }

    private func readOn(_ handle: MosquittoHandle) {
        while true {
            let step = handle.read()
            let isNew = self.noteAcceptance()
            switch step {
            case .drained:
                return
            case .ended(let result):
                return self.handleEnded(result)
            case .more:
                if isNew, !self.readsOn { return }
                if self.sink.batch.isLarge { return self.readOnLater() }
            }
        }
    }

    /// Schedules another read of a TLS connection in the next pass of the event loop. TLS may hold bytes that it has
    /// already taken from the socket, and the kernel does not report those.
    private func readOnLater() {
        if self.link?.handle?.tls != nil { self.loop.wake(self.key) }
    }

    /// Handles the broker's acceptance of the connection (the CONNACK), if it has arrived and was not handled before.
    ///
    /// - Returns: `true` if it was handled by this call.
    private func noteAcceptance() -> Bool {
        guard let acceptance = self.sink.acceptance, acceptance.code == 0 else { return false }
        guard self.link?.isAccepted == false else { return false }
        self.link?.isAccepted = true
        self.sink.unmatched?.accepted(self.link?.attempt.version)
        self.accepted.window = min(self.configuration.sendMaximum, acceptance.broker.receiveMaximum)
        self.perform(self.machine.accepted(sessionPresent: acceptance.isSessionPresent, now: self.now))
        return true
    }

    // MARK: - Silence

    /// The time at which the connection is ended if a packet whose beginning has arrived is still incomplete. `nil`
    /// while no packet is incomplete, or while the client reads nothing.
    var packetDeadline: MonotonicTime? { self.link?.arrival.deadline(self.configuration.answerTimeout) }

    /// Ends the connection if a packet has begun and its rest has not arrived within the answer timeout.
    func endStalledPacket() {
        guard let handle = self.link?.handle, self.link?.isAccepted == true else { return }
        let isReading = self.readsOn
        self.link?.arrival.looked(
            at: handle.received, isIncomplete: handle.packetCheck.isIncomplete, isReading: isReading, now: self.now)
        guard let deadline = self.packetDeadline, deadline <= self.now else { return }
        self.handleEnded(
            MosquittoResult(
                violation: "the rest of a packet did not arrive within \(self.configuration.answerTimeout)"))
    }

    /// The interval at which libmosquitto is asked to send a ping if one is due. It is a quarter of the keep-alive
    /// time, so that the ping is in time.
    var keepAliveInterval: Duration { self.configuration.keepAlive / 4 }

    func keepAlive() {
        guard let due = self.nextKeepAlive, due <= self.now, let handle = self.link?.handle else { return }
        self.nextKeepAlive = self.now.advanced(by: self.keepAliveInterval)
        // A ping would send the withheld acknowledgements too.
        guard !self.isWithholding else { return self.endWithholding() }
        // While reading is stopped, one packet now and then shows libmosquitto that the connection lives, and its
        // acknowledgement shows the broker the same. An overfull queue stops even this.
        if self.reading.isHeldBack, !self.events.isOverfull, case .ended(let result) = handle.read() {
            return self.handleEnded(result)
        }
        if case .ended(let result) = handle.keepAlive() { return self.handleEnded(result) }
        if handle.wantsWrite, case .ended(let result) = handle.write() { self.handleEnded(result) }
    }
}
