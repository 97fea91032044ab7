/// Checks the byte stream that a broker sends, packet by packet, before an MQTT library parses it.
///
/// The check accepts the MQTT 3.1.1 and 5 packets that a broker may send to a client that uses QoS 1 for its messages.
/// Every other byte sequence is a ``Fault``, after which the connection must be closed. The check needs no socket,
/// clock or log. Its memory is limited by the packet limit: message payloads are counted, not copied.
package struct InboundPacketCheck {
    /// A violation of MQTT in the stream.
    package struct Fault: Error, Hashable {
        /// The violated rule, without any content of the packet: `"the topic has an invalid character"`.
        package let reason: String
    }

    /// The result of checking one portion of the stream.
    package struct Verdict: Hashable {
        /// The number of bytes, from the start of the portion, that belong to packets without a fault. It is the size
        /// of the portion unless there is a fault.
        package let safeCount: Int
        /// The first violation; `nil` while there is none.
        package let fault: Fault?
    }

    /// The largest remaining length of a packet that MQTT can express, in bytes.
    package static let protocolLimit = 268_435_455

    private let version: ConnectionStateMachine.Version
    private let maximumPacketSize: Int
    /// The first bytes of the current packet while it is not checked completely; empty between packets.
    private var head: [UInt8] = []
    /// The size that ``head`` must reach before it is examined again.
    private var examinationSize = 0
    /// The number of payload bytes still to arrive of a message whose header is checked.
    private var missingPayload = 0
    private var isAccepted = false
    private var fault: Fault?

    /// Makes a check for a new connection.
    ///
    /// - Parameters:
    ///   - version: The MQTT version of the CONNECT.
    ///   - maximumPacketSize: The largest packet in bytes, header included.
    package init(version: ConnectionStateMachine.Version, maximumPacketSize: Int = Self.protocolLimit + 5) {
        self.version = version
        self.maximumPacketSize = maximumPacketSize
    }

    /// A Boolean value that indicates whether a packet has begun and is not complete.
    package var isIncomplete: Bool { self.missingPayload > 0 || !self.head.isEmpty }

    /// Checks the next bytes of the stream.
    ///
    /// After a fault every further call returns that fault.
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

    /// Checks up to the end of the current packet.
    ///
    /// - Returns: The number of bytes that were checked or stored.
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

    /// Accepts a checked packet of `size` bytes, of which `count` bytes have arrived. The rest, part of a payload, is
    /// only counted.
    private mutating func pass(_ size: Int, of count: Int) -> Int {
        self.missingPayload = max(0, size - count)
        return min(size, count)
    }

    /// Examines a packet from its first byte on.
    ///
    /// - Returns: The packet's size once all bytes to check have arrived; `nil` while bytes are missing.
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
