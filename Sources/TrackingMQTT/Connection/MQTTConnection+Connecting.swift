import CMosquitto
import SystemLibrary
import TrackingCore
import TrackingRuntime

extension MQTTConnection {
    func connect(_ attempt: ConnectionStateMachine.Attempt) {
        self.deliver()
        self.closeLink()
        self.credentials.used = self.credentials.next ?? self.configuration.credentials
        let endpoint = self.configuration.endpoints[attempt.endpoint]
        self.link = Link(attempt: attempt, endpoint: endpoint)
        self.addresses.lookups += 1
        let lookup = self.addresses.lookups
        NameResolver.prepare(endpoint, self.configuration.tls) { result in
            self.loop.call {
                self.assumeIsolated { $0.prepared(result, lookup: lookup) }
            }
        }
    }

    /// Closes the connection without sending a DISCONNECT, or abandons the attempt to connect.
    func closeLink() {
        self.addresses.lookups += 1
        self.link = nil
        self.closing = nil
        self.sink.reset()
    }

    /// Stops using a connection on which a DISCONNECT was written, and waits until the broker closes it.
    private func waitForClosing(_ link: Link) {
        let socket = link.handle?.takeSocket()
        self.closeLink()
        self.closing = socket
        guard let socket else { return }
        self.loop.poller.watch(socket.descriptor, key: self.key, for: .read, isNew: link.interest == nil)
    }

    /// Reports to the state machine that an orderly close is complete, if the broker has closed the connection after
    /// the DISCONNECT.
    func finishClosing() {
        guard let closing = self.closing, closing.isClosedByBroker() else { return }
        self.closing = nil
        self.perform(self.machine.goodbyeSent(now: self.now))
    }

    /// Closes a connection, or an attempt to connect, that exceeded its time limit, and abandons a question for
    /// credentials. If the broker did not accept the
    /// connection at an address, the next attempt begins with the host's next address.
    func abandon() {
        self.abandonQuestion()
        if let link = self.link, link.handle != nil, !link.isAccepted {
            self.addresses.offsets[link.attempt.endpoint, default: 0] += 1
        }
        self.closeLink()
    }

    private func prepared(_ result: Result<PreparedEndpoint, TrackingError>, lookup: Int) {
        guard lookup == self.addresses.lookups, let attempt = self.link?.attempt else { return }
        self.now = DeviceClock.now
        switch result {
        case .failure(let error):
            self.perform(self.machine.attemptFailed(.unreachable(error), now: self.now))
        case .success(let prepared):
            let offset = self.addresses.offsets[attempt.endpoint, default: 0] % prepared.addresses.count
            self.link?.addresses = prepared.addresses[offset...] + prepared.addresses[..<offset]
            self.link?.tls = prepared.tls
            self.openNextAddress()
        }
        self.loop.wake(self.key)
    }

    private func openNextAddress() {
        guard let link = self.link, let address = self.link?.addresses.popFirst() else { return }
        self.link?.handle = nil
        self.link?.interest = nil
        self.link?.isUp = false
        self.sink.reset()
        var will = self.configuration.will?(link.attempt.connection)
        if !link.attempt.retainsWill { will?.isRetained = false }
        let settings = MosquittoHandle.Settings(
            clientID: self.configuration.client.rawValue, address: address, port: link.endpoint.port,
            version: link.attempt.version, will: will, tls: link.tls,
            credentials: self.credentials.used, configuration: self.configuration, pipe: self.loop.pipe)
        do throws(MosquittoResult) {
            self.link?.handle = try MosquittoHandle(settings, sink: self.sink)
            self.watchSocket()
        } catch {
            self.handleEnded(error)
        }
    }

    // MARK: - The end of a handle

    /// Handles the end of the connection or of the attempt to connect. `result` contains the reason. If the attempt
    /// failed before MQTT began (at the socket or in the TLS handshake), it continues with the host's next IP address,
    /// if there is one.
    func handleEnded(_ result: MosquittoResult) {
        guard let link = self.link else { return }
        let acceptance = self.sink.acceptance
        // libmosquitto ends a connection that the broker refused in the same way.
        if result.isMalformed, acceptance?.code ?? 0 == 0 { self.logMalformed(result, link) }
        if let acceptance, acceptance.code == 0 {
            let reason = self.reasonOfEnd(result)
            let isGoodbye = result.code == MOSQ_ERR_SUCCESS.rawValue && self.sink.disconnection == 0
            self.suspectUnanswered(result)
            if isGoodbye, !self.machine.isOnline { return self.waitForClosing(link) }
            self.closeLink()
            self.perform(self.machine.connectionLost(reason, isSilent: result.isUnansweredPing, now: self.now))
        } else if acceptance == nil, !link.isUp, !link.addresses.isEmpty {
            self.openNextAddress()
        } else {
            self.addresses.offsets[link.attempt.endpoint, default: 0] += 1
            let failure = self.failure(link, result)
            self.closeLink()
            self.perform(self.machine.attemptFailed(failure, now: self.now))
        }
    }

    private func reasonOfEnd(_ result: MosquittoResult) -> TrackingError {
        if result.isMalformed {
            return TrackingError(.connectionLost, result.text, reasonCode: ReasonCode.malformedPacket)
        }
        if let code = self.sink.disconnection, code >= 0x80 { return ReasonCode.disconnected(code) }
        return TrackingError(.connectionLost, "the connection to the broker was lost: \(result.text)")
    }

    private func failure(_ link: Link, _ result: MosquittoResult) -> ConnectionStateMachine.Failure {
        if let code = self.sink.acceptance?.code {
            return .refused(ReasonCode.connectionRefused(code, version: link.attempt.version))
        }
        let host = link.endpoint.host
        if let error = link.tls?.verificationError(host: host) { return .unreachable(error) }
        if link.tls != nil, let complaint = self.sink.complaint {
            return .unreachable(
                TrackingError(
                    .tlsFailed, "the TLS handshake with \(link.endpoint) failed: \(complaint). Check the TLS settings"))
        }
        let advice = link.tls == nil ? ". If the broker requires TLS, begin its address with mqtts" : ""
        if let violation = result.violation {
            // A damaged answer does not show which versions the broker supports.
            return .unreachable(
                TrackingError(
                    .brokerUnreachable,
                    """
                    cannot connect: \(link.endpoint) sent no valid packet of \(link.attempt.version.name): \
                    \(violation)\(advice)
                    """))
        }
        if link.isUp {
            return .closedUnanswered(
                TrackingError(
                    .brokerUnreachable,
                    """
                    cannot connect: \(link.endpoint) closed the connection without answering \
                    \(link.attempt.version.name)\(advice)
                    """))
        }
        // OpenSSL consumes the socket error, so the exact reason is unknown.
        let isUnclear = link.tls != nil && result.isByPeer
        let reason = isUnclear ? "no program listens there, or it closed the connection before TLS" : result.text
        return .unreachable(
            TrackingError(
                .brokerUnreachable,
                "cannot connect to the broker at \(link.endpoint): \(reason). Check host and port"))
    }
}

extension ConnectionStateMachine.Version {
    /// The public name of the MQTT version, for example "MQTT 5".
    var name: String {
        switch self {
        case .v5: "MQTT 5"
        case .v311: "MQTT 3.1.1"
        }
    }
}
