import CMosquitto
import SystemLibrary

/// A way to pass bytes to libmosquitto after they were checked. libmosquitto can read only from a descriptor, so the
/// bytes are written into one end of a pair of connected sockets.
///
/// All connections of one event loop use the same pair. The pair is empty between two uses.
final class InboundPipe {
    /// The largest number of bytes that are read at once from a connection without TLS. It is small because all of them
    /// become events, and a portion of small messages must not exceed the limit of unread events.
    static let portion = 4_096
    /// The size in bytes of the buffer for bytes from a connection: 16 KB, the largest size of a TLS record.
    static let capacity = 16_384

    /// The end of the pair of sockets from which libmosquitto reads.
    let readEnd: Int32
    private let writeEnd: Int32
    /// The buffer into which bytes from a connection are read before they are checked.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: InboundPipe.capacity, alignment: 16)

    /// Creates the pair of connected sockets. Stops the program if the system has no descriptors left.
    init() {
        var ends: [Int32] = [-1, -1]
        precondition(godwit_socket_pair(&ends), "no descriptors left for an event loop")
        (self.readEnd, self.writeEnd) = (ends[0], ends[1])
    }

    deinit {
        close(self.readEnd)
        close(self.writeEnd)
        self.buffer.deallocate()
    }

    /// The number of bytes that were written into the pair of sockets and that libmosquitto has not read.
    var unread: Int { Int(godwit_unread(self.readEnd)) }

    /// Writes as many of the bytes as fit into the pair of sockets, for libmosquitto to read.
    ///
    /// - Returns: The number of bytes that were written; 0 on an error.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        while true {
            let count = send(self.writeEnd, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count < 0, errno == EINTR { continue }
            return max(0, count)
        }
    }

    /// Discards the bytes in the pair of sockets that libmosquitto has not read.
    func discard() {
        while recv(self.readEnd, self.buffer.baseAddress, self.buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
    }
}
