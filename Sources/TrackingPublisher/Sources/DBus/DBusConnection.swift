import TrackingCore

/// The program's side of one connection to a D-Bus bus: the login, the numbers of calls, and the division of the
/// received bytes into messages. It uses no socket.
struct DBusConnection: Sendable {
    /// An event of the connection.
    enum Event: Hashable, Sendable {
        /// The bus accepted the login. Send these bytes; calls may follow.
        case accepted([UInt8])
        case received(DBusMessage)
        /// The connection cannot be used any more, and no event follows. The bus rejected the login, or sent bytes that
        /// begin no message.
        case failed(TrackingError)
    }

    /// The maximum length of a line of the login, in bytes.
    private static let maximumLine = 1_024

    private enum State: Hashable, Sendable {
        /// The bus has not accepted the login yet. Next states: `open`, `failed`.
        case login
        /// Messages are exchanged. Next state: `failed`.
        case open
        /// The connection cannot be used any more. Final.
        case failed
    }

    private var state = State.login
    private var buffer: [UInt8] = []
    /// The number of bytes to discard next: the rest of a message that is too long.
    private var surplus = 0
    private var lastSerial: UInt32 = 0

    /// The bytes to send first. The bus takes the user from the socket (the mechanism `EXTERNAL` without a name), so
    /// that the login also succeeds in a user namespace.
    static let login = Array("\0AUTH EXTERNAL\r\nDATA\r\n".utf8)

    init() {}

    /// Returns the number of a new call, and its message.
    mutating func call(_ call: DBusCall) -> (serial: UInt32, bytes: [UInt8]) {
        self.lastSerial = self.lastSerial == .max ? 1 : self.lastSerial + 1
        return (self.lastSerial, call.encoded(serial: self.lastSerial))
    }

    /// Handles bytes from the bus. Returns the events that are complete with them.
    ///
    /// A message that is too long or cannot be decoded is skipped, because any program on the device can send one.
    mutating func received(_ bytes: ArraySlice<UInt8>) -> [Event] {
        guard self.state != .failed else { return [] }
        self.buffer += bytes
        var events: [Event] = []
        do throws(TrackingError) {
            while let event = try self.next() { events.append(event) }
        } catch {
            (self.state, self.buffer) = (.failed, [])
            events.append(.failed(error))
        }
        return events
    }

    private mutating func next() throws(TrackingError) -> Event? {
        switch self.state {
        case .login: return try self.nextLine()
        case .open: return try self.nextMessage().map { .received($0) }
        case .failed: return nil
        }
    }

    private mutating func nextMessage() throws(TrackingError) -> DBusMessage? {
        while true {
            self.discardSurplus()
            guard let length = try DBusMessage.length(of: self.buffer[...]) else { return nil }
            guard length <= DBusMessage.maximumBytes else {
                self.surplus = length
                continue
            }
            guard self.buffer.count >= length else { return nil }
            let bytes = Array(self.buffer.prefix(length))
            self.buffer.removeFirst(length)
            if let message = try? DBusMessage(bytes) { return message }
        }
    }

    /// Discards the received bytes of a message that is too long.
    private mutating func discardSurplus() {
        let count = min(self.surplus, self.buffer.count)
        self.buffer.removeFirst(count)
        self.surplus -= count
    }

    private mutating func nextLine() throws(TrackingError) -> Event? {
        while let end = self.buffer.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: self.buffer[..<end], as: UTF8.self)
            self.buffer.removeSubrange(...end)
            // The bus first asks for more data, which was already sent.
            if line.hasPrefix("DATA") { continue }
            guard line.hasPrefix("OK") else { throw Self.rejected }
            self.state = .open
            return .accepted(Array("BEGIN\r\n".utf8))
        }
        guard self.buffer.count <= Self.maximumLine else { throw Self.rejected }
        return nil
    }

    private static var rejected: TrackingError {
        TrackingError(
            .inputUnreadable,
            "the system bus rejected the login of this user. Check the policy of D-Bus, and the namespace of a container"
        )
    }
}
