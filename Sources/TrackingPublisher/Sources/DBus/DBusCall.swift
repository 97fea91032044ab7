/// A call of a method over D-Bus.
struct DBusCall: Hashable, Sendable {
    /// The name on the bus of the service whose method is called.
    var service: String
    /// The path of the object.
    var path: String
    var interface: String
    var method: String
    var arguments: [DBusArgument] = []

    /// Returns the message of this call.
    ///
    /// - Parameter serial: The number of the call on its connection, from 1. The answer contains it.
    func encoded(serial: UInt32) -> [UInt8] {
        var body = DBusWriter()
        for argument in self.arguments { body.append(argument) }
        var fields = DBusWriter()
        fields.appendField(1, "o", self.path)
        fields.appendField(2, "s", self.interface)
        fields.appendField(3, "s", self.method)
        fields.appendField(6, "s", self.service)
        if !self.arguments.isEmpty {
            fields.appendField(8, "g", self.arguments.map(\.signature).joined())
        }
        var message = DBusWriter()
        // Little endian, a call, no flags, version 1.
        message.bytes = [UInt8(ascii: "l"), UInt8(DBusMessage.Kind.call.rawValue), 0, 1]
        message.append(UInt32(body.bytes.count))
        message.append(serial)
        message.append(UInt32(fields.bytes.count))
        // The fields begin at a multiple of 8, so that their alignment is the same as in their own array.
        message.bytes += fields.bytes
        message.align(8)
        return message.bytes + body.bytes
    }
}

/// Encodes values for a D-Bus message, with the least significant byte first.
private struct DBusWriter {
    var bytes: [UInt8] = []

    mutating func align(_ alignment: Int) {
        while self.bytes.count % alignment != 0 { self.bytes.append(0) }
    }

    mutating func append(_ number: UInt32) {
        self.align(4)
        self.bytes += (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    mutating func append(_ text: String) {
        self.append(UInt32(text.utf8.count))
        self.bytes += Array(text.utf8) + [0]
    }

    mutating func appendSignature(_ signature: String) {
        self.bytes += [UInt8(signature.utf8.count)] + Array(signature.utf8) + [0]
    }

    mutating func append(_ argument: DBusArgument) {
        switch argument {
        case .text(let text): self.append(text)
        case .textVariant(let text):
            self.appendSignature("s")
            self.append(text)
        case .numberVariant(let number):
            self.appendSignature("u")
            self.append(number)
        }
    }

    /// Appends a field of a message's header.
    ///
    /// - Parameters:
    ///   - code: The number of the field in the specification.
    ///   - type: The type of its value: `s`, `o` or `g`.
    mutating func appendField(_ code: UInt8, _ type: String, _ value: String) {
        self.align(8)
        self.bytes.append(code)
        self.appendSignature(type)
        if type == "g" { self.appendSignature(value) } else { self.append(value) }
    }
}
