import SystemLibrary

/// The socket of a connection after its DISCONNECT was sent. Nothing more is written to it. The received bytes are
/// discarded until the broker closes the connection.
///
/// If the client closed the socket at once, bytes that it has not read would make the system reset the connection. A
/// broker that is sending a message to the client at that moment takes the reset for a lost connection, and publishes
/// the will although the DISCONNECT has arrived.
final class ClosingSocket {
    /// The maximum number of reads in one pass of the event loop. The poller reports the socket again if bytes are
    /// left.
    private static let readsAPass = 16

    let descriptor: Int32

    /// Takes over an open socket, and ends its direction to the broker.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        shutdown(descriptor, Int32(SHUT_WR))
    }

    deinit { close(self.descriptor) }

    /// Discards the received bytes.
    ///
    /// - Returns: `true` if the broker has closed the connection.
    func isClosedByBroker() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
            for _ in 0..<Self.readsAPass {
                let count = recv(self.descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count > 0 { continue }
                return count == 0 || ![EAGAIN, EWOULDBLOCK, EINTR].contains(errno)
            }
            return false
        }
    }
}
