import CMosquitto
import SystemLibrary
import TrackingCore

/// The reading from a broker's connection: ``InboundPacketCheck`` checks every byte before libmosquitto parses it.
///
/// libmosquitto ends the process on a packet with an unknown property, and it reads its socket itself. Therefore,
/// without TLS, its descriptor is replaced by the ``InboundPipe`` during a call. With TLS, no bytes are taken from the
/// network during a call, so that only the decrypted bytes of one checked record are read.
extension MosquittoHandle {
    /// Reads the received bytes, up to ``InboundPipe/portion`` bytes or one record of TLS, and continues a TLS
    /// handshake.
    func read() -> Step {
        guard let tls else { return self.readPlain() }
        return tls.isEstablished ? self.readRecord(tls) : self.readOnce()
    }

    private func readPlain() -> Step {
        let buffer = UnsafeMutableRawBufferPointer(rebasing: self.pipe.buffer[..<InboundPipe.portion])
        let count = recv(self.descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        guard count > 0 else { return Self.end(count, errno) }
        let verdict = self.check(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        if let end = self.pass(UnsafeRawBufferPointer(rebasing: buffer[..<verdict.safeCount])) { return .ended(end) }
        if let end = self.violation(verdict) { return .ended(end) }
        return count < buffer.count ? .drained : .more
    }

    private func readRecord(_ tls: TLSConnection) -> Step {
        switch tls.peek(into: self.pipe.buffer) {
        case .nothing: return .drained
        case .closed: return .ended(MosquittoResult(MOSQ_ERR_CONN_LOST.rawValue))
        case .failed(let error, let complaint):
            if let complaint { self.sink.complaint = complaint }
            return .ended(MosquittoResult(MOSQ_ERR_ERRNO.rawValue, systemError: error))
        case .bytes(let count):
            let verdict = self.check(UnsafeRawBufferPointer(rebasing: self.pipe.buffer[..<count]))
            if let end = self.violation(verdict) { return .ended(end) }
            tls.isGateOpen = false
            defer { tls.isGateOpen = true }
            if let end = self.readAll(atMost: count, isOver: { !tls.hasPending }) { return .ended(end) }
            return self.sink.violation.map { .ended(MosquittoResult(violation: $0)) } ?? .more
        }
    }

    /// Returns the step after a read of no bytes: the end of the connection, or `drained` if no bytes have arrived.
    private static func end(_ count: Int, _ error: Int32) -> Step {
        if count == 0 || error == ECONNRESET { return .ended(MosquittoResult(MOSQ_ERR_CONN_LOST.rawValue)) }
        if error == EAGAIN || error == EWOULDBLOCK || error == EINTR { return .drained }
        return .ended(MosquittoResult(MOSQ_ERR_ERRNO.rawValue, systemError: error))
    }

    private func check(_ bytes: UnsafeRawBufferPointer) -> InboundPacketCheck.Verdict {
        self.received += bytes.count
        return self.packetCheck.check(bytes)
    }

    private func violation(_ verdict: InboundPacketCheck.Verdict) -> MosquittoResult? {
        (verdict.fault?.reason ?? self.sink.violation).map { MosquittoResult(violation: $0) }
    }

    /// Passes checked bytes to libmosquitto, which has read all of them on return.
    ///
    /// libmosquitto writes nothing while it reads, because the loop performs the writes.
    private func pass(_ bytes: UnsafeRawBufferPointer) -> MosquittoResult? {
        guard !bytes.isEmpty else { return nil }
        let number = mosquitto_socket(self.pointer)
        guard number >= 0, godwit_redirect(number, self.pipe.readEnd) else {
            return MosquittoResult(MOSQ_ERR_NO_CONN.rawValue)
        }
        // After libmosquitto has closed its socket, the number no longer belongs to the connection.
        defer { if mosquitto_socket(self.pointer) == number { _ = godwit_redirect(number, self.descriptor) } }
        var rest = bytes
        while !rest.isEmpty {
            let count = self.pipe.write(rest)
            guard count > 0 else { return MosquittoResult(MOSQ_ERR_ERRNO.rawValue) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            if let end = self.readAll(atMost: count, isOver: { self.pipe.unread == 0 }) {
                self.pipe.discard()
                return end
            }
        }
        return nil
    }

    /// Calls libmosquitto until it has read all available bytes.
    ///
    /// - Parameters:
    ///   - limit: The number of bytes, each of which takes one call at most.
    ///   - isOver: Returns `true` once everything is read; called when libmosquitto finds no more bytes.
    /// - Returns: The end of the connection; `nil` while it continues.
    private func readAll(atMost limit: Int, isOver: () -> Bool) -> MosquittoResult? {
        for _ in 0...limit + 1 {
            godwit_clear_errno()
            let code = mosquitto_loop_read(self.pointer, 1)
            let error = godwit_errno()
            guard code == MOSQ_ERR_SUCCESS.rawValue, self.isOpen else {
                return MosquittoResult(code, systemError: error)
            }
            if error == EAGAIN || error == EWOULDBLOCK, isOver() { return nil }
        }
        return MosquittoResult(MOSQ_ERR_PROTOCOL.rawValue)
    }

    /// Lets libmosquitto read its socket itself, for the TLS handshake.
    private func readOnce() -> Step {
        let code = mosquitto_loop_read(self.pointer, 1)
        let error = godwit_errno()
        guard code == MOSQ_ERR_SUCCESS.rawValue, self.isOpen else {
            return .ended(MosquittoResult(code, systemError: error))
        }
        return error == EAGAIN || error == EWOULDBLOCK ? .drained : .more
    }
}
