/// Checks the bytes that a broker sends, packet by packet, before an MQTT library parses them.
///
/// The check accepts the MQTT 3.1.1 and 5 packets that a broker may send to a client that subscribes at QoS 1. Every
/// other byte sequence is a ``Fault``; the connection must then be closed. The check uses no socket, clock or log. It
/// counts the bytes of message payloads without copying them.
package struct InboundPacketCheck {
    /// A violation of the MQTT specification in the received bytes.
    package struct Fault: Error, Hashable {
        /// The violated rule as text, without any content of the packet: `"the topic has an invalid character"`.
        package let reason: String
    }

    /// The result of checking one portion of the bytes that a broker sent: the number of bytes without a violation, and
    /// the first violation of the MQTT specification.
    package struct Verdict: Hashable {
        /// The number of bytes at the start of the portion that come before the packet with the violation. Without a
        /// violation, it is the size of the portion.
        package let safeCount: Int
        /// The first violation of the MQTT specification in the portion; `nil` if there is none.
        package let fault: Fault?
    }

    /// The largest remaining length that an MQTT packet can have, in bytes.
    package static let protocolLimit = 268_435_455

    private let version: ConnectionStateMachine.Version
    private let maximumPacketSize: Int
    /// The bytes of the current packet that have arrived while the check of the packet is not finished. Empty between
    /// packets.
    private var head: [UInt8] = []
    /// The number of bytes of the current packet that must have arrived before the check tries again.
    private var examinationSize = 0
    /// The number of payload bytes still to arrive of a message whose header was checked already.
    private var missingPayload = 0
    private var isAccepted = false
    private var fault: Fault?

    /// Makes a check for the bytes of a new connection.
    ///
    /// - Parameters:
    ///   - version: The MQTT version with which the client connected.
    ///   - maximumPacketSize: The size of the largest permitted packet in bytes, header included.
    package init(version: ConnectionStateMachine.Version, maximumPacketSize: Int = Self.protocolLimit + 5) {
        self.version = version
        self.maximumPacketSize = maximumPacketSize
    }

    /// A Boolean value that indicates whether a packet has begun to arrive and is not complete.
    package var isIncomplete: Bool { self.missingPayload > 0 || !self.head.isEmpty }

    /// Checks the bytes that arrived next on the connection.
    ///
    /// After the first violation, every further call returns that violation.
    package mutating func check(_ bytes: UnsafeRawBufferPointer) -> Verdict {
        if let fault = self.fault { return Verdict(safeCount: 0, fault: fault) }
        var position = 0
        while position < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
            do throws(Fault) {
                position += try self.checkNext(rest)
            } catch {
                self.fault = error
                return Verdict(safeCount: position, fault: error)
            }
        }
        return Verdict(safeCount: position, fault: nil)
    }

    /// Checks bytes up to the end of the current packet at most.
    ///
    /// - Returns: The number of bytes that were checked or stored.
    /// - Throws: ``Fault`` for the first violation of the MQTT specification.
    private mutating func checkNext(_ bytes: UnsafeRawBufferPointer) throws(Fault) -> Int {
        if self.missingPayload > 0 {
            let count = min(self.missingPayload, bytes.count)
            self.missingPayload -= count
            return count
        }
        guard !self.head.isEmpty else {
            guard let size = try self.examine(bytes) else {
                self.head.append(contentsOf: bytes)
                return bytes.count
            }
            return self.pass(size, of: bytes.count)
        }
        let earlier = self.head.count
        self.head.append(contentsOf: bytes)
        guard self.head.count >= self.examinationSize else { return bytes.count }
        let head = self.head
        let examined = try head.withUnsafeBufferPointer { (head) throws(Fault) in
            try self.examine(UnsafeRawBufferPointer(head))
        }
        guard let size = examined else { return bytes.count }
        self.head.removeAll(keepingCapacity: head.count <= 4_096)
        return self.pass(size - earlier, of: bytes.count)
    }

    /// Accepts a checked packet of `size` bytes, of which at most `count` bytes have arrived. The missing bytes belong
    /// to a payload and need no check; they are only counted.
    ///
    /// - Returns: The number of arrived bytes that belong to the packet.
    private mutating func pass(_ size: Int, of count: Int) -> Int {
        self.missingPayload = max(0, size - count)
        return min(size, count)
    }

    /// Examines a packet from its first byte on.
    ///
    /// - Returns: The packet's size once all bytes that need a check have arrived; `nil` while some are missing.
    /// - Throws: ``Fault`` if the packet violates the MQTT specification.
    private mutating func examine(_ bytes: UnsafeRawBufferPointer) throws(Fault) -> Int? {
        var examination = PacketExamination(
            bytes, version: self.version, maximumPacketSize: self.maximumPacketSize, isAccepted: self.isAccepted)
        do throws(PacketReader.Stop) {
            try examination.run()
        } catch {
            guard case .malformed(let reason) = error else {
                // A small packet is examined at each arrival, a large one whenever it has doubled.
                let next = bytes.count < 4_096 ? bytes.count + 1 : bytes.count * 2
                self.examinationSize = min(next, examination.size ?? next)
                return nil
            }
            throw Fault(reason: reason)
        }
        self.isAccepted = examination.isAccepted
        return examination.size
    }
}
