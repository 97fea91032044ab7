import TrackingCore

/// The address of a D-Bus bus, such as the system bus: a Unix socket of this device.
struct DBusAddress: Hashable, Sendable {
    /// The address of the system bus if the environment names no other.
    static let system = "unix:path=/run/dbus/system_bus_socket"

    /// The path of the socket, or its name in the abstract namespace.
    let name: String
    let isAbstract: Bool

    /// The name of the socket as bytes for the operating system: an abstract name begins with a zero.
    var bytes: [UInt8] { (self.isAbstract ? [0] : []) + Array(self.name.utf8) }

    /// The maximum number of ``bytes`` that the operating system accepts.
    private static let maximumBytes = 107

    /// Parses a list of addresses, as in the environment variable `DBUS_SYSTEM_BUS_ADDRESS`:
    /// `unix:path=/run/dbus/system_bus_socket;unix:abstract=bus`.
    ///
    /// - Throws: `invalidConfiguration` if no address in the list is a socket of this device.
    static func parse(_ text: String) throws(TrackingError) -> [DBusAddress] {
        let addresses = text.split(separator: ";").compactMap { Self.address($0) }
        guard !addresses.isEmpty else {
            throw TrackingError(
                .invalidConfiguration,
                "the address of the system bus '\(text)' names no socket of this device. Set DBUS_SYSTEM_BUS_ADDRESS to unix:path=PATH, or unset it"
            )
        }
        return addresses
    }

    private static func address(_ text: Substring) -> DBusAddress? {
        guard text.hasPrefix("unix:") else { return nil }
        for pair in text.dropFirst(5).split(separator: ",") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, ["path", "abstract"].contains(parts[0]) else { continue }
            guard let name = Self.decoded(parts[1]) else { return nil }
            let address = DBusAddress(name: name, isAbstract: parts[0] == "abstract")
            return address.bytes.count <= Self.maximumBytes ? address : nil
        }
        return nil
    }

    /// Returns a value of an address with its `%` escapes decoded; `nil` for an invalid escape.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let escaped = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else {
                return nil
            }
            rest = rest.dropFirst(2)
            bytes.append(escaped)
        }
        return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
    }
}
