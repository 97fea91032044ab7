import TestSupport
import Testing
import TrackingCore

@testable import TrackingPublisher

/// The messages were written by GLib (`Gio.DBusMessage.to_blob`), in both orders of bytes.
@Suite struct DBusTests {
    static let signals = [
        """
        6c04010111000000070000006800000007017300040000003a312e350000000001016f00040000002f632f3100000000020173001f00\
        00006f72672e667265656465736b746f702e47656f436c7565322e436c69656e740008016700026f6f00030173000f0000004c6f6361\
        74696f6e5570646174656400010000002f000000040000002f6c2f3100
        """,
        """
        4204010100000011000000070000006807017300000000043a312e35000000000101\
        6f00000000042f632f3100000000020173000000001f6f72672e667265656465736b746f702e47656f436c7565322e436c69656e7400\
        08016700026f6f00030173000000000f4c6f636174696f6e5570646174656400000000012f000000000000042f6c2f3100
        """,
    ]

    static let answers = [
        """
        6c0200017b000000080000002800000007017300040000003a312e35000000000801670005617b73767d000000000000050175000900\
        00007300000000000000080000004c617469747564650001640014ae47e17a544a400900000054696d657374616d7000042874742900\
        0000000000f153650000000090d003000000000005000000537065656400016400000000000000000000f0bf0b000000446573637269\
        7074696f6e000173000002000000c3a900
        """,
        """
        420200010000007b000000080000002807017300000000043a312e35000000000801670005617b73767d000000000000050175000000\
        00090000007300000000000000084c6174697475646500016400404a547ae147ae140000000954696d657374616d7000042874742900\
        00000000000000006553f100000000000003d09000000005537065656400016400000000bff00000000000000000000b446573637269\
        7074696f6e000173000000000002c3a900
        """,
    ]

    static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue).map { UInt8($0) }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    @Test(arguments: Self.signals) func signalsAreRead(hex: String) throws {
        let bytes = Self.bytes(hex)
        #expect(try DBusMessage.length(of: bytes[...]) == bytes.count)
        let message = try DBusMessage(bytes)
        #expect(message.kind == .signal && message.sender == ":1.5" && message.path == "/c/1")
        #expect(message.interface == "org.freedesktop.GeoClue2.Client" && message.member == "LocationUpdated")
        #expect(message.body == [.text("/"), .text("/l/1")] && message.answers == nil)
    }

    @Test(arguments: Self.answers) func answersAreRead(hex: String) throws {
        let message = try DBusMessage(Self.bytes(hex))
        #expect(message.kind == .answer && message.answers == 9)
        let values = try #require(message.body.first)
        #expect(values["Latitude"]?.double == 52.66 && values["Speed"]?.double == -1)
        #expect(values["Description"]?.text == "é" && values["Altitude"] == nil)
        #expect(values["Timestamp"]?.members.map(\.unsigned) == [1_700_000_000, 250_000])
    }

    /// Every shortened message and every message with a changed byte is rejected or read, and never ends the program.
    @Test(arguments: Self.signals + Self.answers) func damagedMessagesAreHarmless(hex: String) {
        let whole = Self.bytes(hex)
        for count in whole.indices { #expect(throws: TrackingError.self) { try DBusMessage(Array(whole[..<count])) } }
        for index in whole.indices {
            for value: UInt8 in [0, 1, 0x28, 0x61, 0x7B, 0xFF] {
                var damaged = whole
                damaged[index] = value
                _ = try? DBusMessage(damaged)
                _ = try? DBusMessage.length(of: damaged[...])
            }
        }
    }

    @Test func aCallIsAMessage() throws {
        let call = DBusCall(
            service: "org.example", path: "/a", interface: "org.example.I", method: "Set",
            arguments: [.text("é"), .textVariant("x"), .numberVariant(258)])
        let bytes = call.encoded(serial: 77)
        #expect(try DBusMessage.length(of: bytes[...]) == bytes.count)
        let message = try DBusMessage(bytes)
        #expect(message.kind == .call && message.path == "/a" && message.member == "Set")
        #expect(message.body == [.text("é"), .text("x"), .unsigned(258)])
    }

    @Test func bytesAreDividedIntoMessages() throws {
        let message = try DBusMessage(Self.bytes(Self.signals[0]))
        let input = Array("DATA\r\nOK 0123\r\n".utf8) + Self.bytes(Self.signals[0] + Self.signals[0])
        for size in [1, 7, input.count] {
            var connection = DBusConnection()
            var events: [DBusConnection.Event] = []
            for start in stride(from: 0, to: input.count, by: size) {
                events += connection.received(input[start..<min(start + size, input.count)])
            }
            #expect(events == [.accepted(Array("BEGIN\r\n".utf8)), .received(message), .received(message)])
        }
    }

    private func isFailure(_ event: DBusConnection.Event?) -> Bool {
        if case .failed? = event { true } else { false }
    }

    @Test func aRejectedLoginAndBytesThatAreNoMessageAreErrors() throws {
        for bytes in [Array("REJECTED EXTERNAL\r\n".utf8), Array(repeating: 65, count: 1_025)] {
            var connection = DBusConnection()
            let events = connection.received(bytes[...])
            #expect(events.count == 1 && self.isFailure(events.first))
        }
        let signal = Self.bytes(Self.signals[0])
        var long = signal
        long[7] = 0x10  // a body of more than 128 MiB
        #expect(throws: TrackingError.self) { try DBusMessage.length(of: long[...]) }

        var connection = DBusConnection()
        let bytes = Array("OK 1\r\n".utf8) + signal + Array(repeating: 65, count: 16)
        let events = connection.received(bytes[...])
        #expect(try events.dropFirst().first == .received(DBusMessage(signal)), "an earlier message is delivered")
        #expect(events.count == 3 && self.isFailure(events.last))
        #expect(connection.received(signal[...]) == [])
    }

    /// Any program on the device can send such messages.
    @Test func longAndInvalidMessagesAreSkipped() throws {
        let signal = Self.bytes(Self.signals[0])
        let message = try DBusMessage(signal)
        var long = signal
        long[6] = 2  // a body of more than 128 KB
        let length = try #require(try DBusMessage.length(of: long[...]))
        #expect(length > DBusMessage.maximumBytes)
        long += Array(repeating: 65, count: length - long.count)
        var unknown = signal
        unknown[1] = 9
        var damaged = signal
        damaged[signal.count - 1] = 65
        for skipped in [long, unknown, damaged] {
            let input = Array("OK 1\r\n".utf8) + signal + skipped + signal
            for size in [7, 4_096, input.count] {
                var connection = DBusConnection()
                var events: [DBusConnection.Event] = []
                for start in stride(from: 0, to: input.count, by: size) {
                    events += connection.received(input[start..<min(start + size, input.count)])
                }
                #expect(events == [.accepted(Array("BEGIN\r\n".utf8)), .received(message), .received(message)])
            }
        }
    }

    @Test(arguments: [
        ("unix:path=/run/dbus/system_bus_socket", ["/run/dbus/system_bus_socket"]),
        ("tcp:host=h;unix:abstract=a%20b,guid=1;unix:path=/x", ["a b", "/x"]),
    ])
    func addressesAreRead(text: String, names: [String]) throws {
        let addresses = try DBusAddress.parse(text)
        #expect(addresses.map(\.name) == names)
        #expect(addresses.allSatisfy { ($0.bytes.first == 0) == $0.isAbstract })
    }

    @Test(arguments: ["", "tcp:host=h", "unix:path=/%0", "unix:path=\(String(repeating: "a", count: 108))", "/run"])
    func otherAddressesAreErrors(text: String) {
        #expect(throws: TrackingError.self) { try DBusAddress.parse(text) }
    }
}
