import CMosquitto
import SystemLibrary
import TrackingCore

/// The reading from a broker's connection. ``InboundPacketCheck`` checks every byte before libmosquitto parses it,
/// because some malformed packets make libmosquitto end the process.
///
/// libmosquitto reads its socket by itself. Without TLS, its socket is therefore replaced by the ``InboundPipe`` during
/// a call, and the pipe contains only checked bytes. With TLS, libmosquitto takes no bytes from the network during a
/// call. It thereby reads only the one TLS record that was decrypted and checked before.
extension MosquittoHandle {
    /// Reads received bytes and passes them to libmosquitto: up to ``InboundPipe/portion`` bytes, or one TLS record.
    /// While the TLS handshake is not complete, continues the handshake and reads no data.
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

    /// Returns the result of a read that got no bytes: the end of the connection, or `drained` if merely no bytes have
    /// arrived yet.
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

    /// Passes checked bytes to libmosquitto through the pipe. libmosquitto has read all of them when the function
    /// returns.
    ///
    /// - Returns: The end of the connection; `nil` while it continues.
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

    /// Calls libmosquitto repeatedly until it has read all available bytes.
    ///
    /// - Parameters:
    ///   - limit: The number of available bytes. libmosquitto needs at most one call for each byte, so more calls mean
    ///     a fault.
    ///   - isOver: Returns `true` if everything was read. Called when libmosquitto finds no more bytes.
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

    /// Lets libmosquitto read its socket once by itself, for the TLS handshake.
    private func readOnce() -> Step {
        let code = mosquitto_loop_read(self.pointer, 1)
        let error = godwit_errno()
        guard code == MOSQ_ERR_SUCCESS.rawValue, self.isOpen else {
            return .ended(MosquittoResult(code, systemError: error))
        }
        return error == EAGAIN || error == EWOULDBLOCK ? .drained : .more
    }
}
