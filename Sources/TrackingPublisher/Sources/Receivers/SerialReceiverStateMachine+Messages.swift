import TrackingCore

/// The messages that serial receivers understand, as bytes.
extension SerialReceiverStateMachine {
    /// A byte that wakes a sleeping receiver. Receivers ignore it otherwise. A u-blox receiver needs a change of level
    /// on its line, and discards the bytes that arrive while it starts.
    static let wakeUp: [UInt8] = [0xFF]

    /// The longest sleep of a u-blox receiver that it can be given: 12 days.
    private static let longestSleep: Duration = .seconds(12 * 86_400)

    /// Returns an NMEA sentence with the given body, its checksum and a line end, as bytes to send to the receiver.
    static func sentence(_ body: String) -> [UInt8] {
        let checksum = NMEASentence.checksum(body.utf8)
        let digits = String(checksum, radix: 16, uppercase: true)
        return Array("$\(body)*\(digits.utf8.count == 1 ? "0" : "")\(digits)\r\n".utf8)
    }

    /// Returns the u-blox message UBX-CFG-RATE, which sets the time between two measurements. Each measurement gives a
    /// fix, and the measurements are aligned to GPS time.
    static func rate(milliseconds: UInt16) -> [UInt8] {
        self.message(0x06, 0x08, [UInt8(truncatingIfNeeded: milliseconds), UInt8(milliseconds >> 8), 1, 0, 1, 0])
    }

    /// Returns the u-blox message UBX-CFG-RXM, which sets the power mode while the receiver is awake: power save
    /// (cyclic tracking) or continuous.
    static func powerSave(_ isOn: Bool) -> [UInt8] { self.message(0x06, 0x11, [8, isOn ? 1 : 0]) }

    /// Returns the u-blox message UBX-RXM-PMREQ (version 0), with which the receiver goes into its backup mode. It
    /// wakes at the end of `duration`, or before by a byte on its line.
    ///
    /// A receiver that is connected by USB ignores the message, because it could not be woken.
    ///
    /// - Parameter duration: The time for which the receiver sleeps; `nil` until it is woken.
    static func backup(for duration: Duration?) -> [UInt8] {
        // Zero means no end.
        let milliseconds = duration.map { UInt32(clamping: max(1, min($0, Self.longestSleep).inMilliseconds)) } ?? 0
        let (backup, lineReceives): (UInt32, UInt32) = (1 << 1, 1 << 3)
        return self.message(
            0x02, 0x41, [0, 0, 0, 0] + [milliseconds, backup, lineReceives].flatMap { self.littleEndian($0) })
    }

    private static func littleEndian(_ number: UInt32) -> [UInt8] {
        [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }

    /// Returns a u-blox message with its two synchronization bytes, its length and its checksum.
    private static func message(_ group: UInt8, _ id: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let message = [group, id, UInt8(payload.count), 0] + payload
        var first: UInt8 = 0
        var second: UInt8 = 0
        for byte in message {
            first &+= byte
            second &+= first
        }
        return [0xB5, 0x62] + message + [first, second]
    }
}
