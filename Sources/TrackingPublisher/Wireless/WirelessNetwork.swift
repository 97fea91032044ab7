private import SystemLibrary

/// The name of the wireless network to which the device is connected, from the kernel (`SIOCGIWESSID`).
///
/// Reading it needs no rights and does not block. Newer drivers may not support the request; their networks have no
/// name here.
public struct WirelessNetwork: Sendable {
    /// The longest name of a network interface, in bytes.
    private static let longestInterface = 15
    private static let longestName = 32

    private let directory: String
    private let ask: @Sendable (_ interface: String) -> [UInt8]?

    /// Creates a reader of the wireless network's name. It examines the interfaces that `directory` lists, in the form
    /// of Linux's `/sys/class/net`.
    public init(directory: String = "/sys/class/net") { self.init(directory: directory, ask: Self.kernel) }

    /// Creates a reader that calls `ask` to get the name of the network to which an interface is connected.
    init(directory: String, ask: @escaping @Sendable (String) -> [UInt8]?) {
        self.directory = directory
        self.ask = ask
    }

    /// The current name of the wireless network. It is that of the first connected wireless interface in alphabetical
    /// order; `nil` when no wireless interface is connected or its driver reports no name.
    public var name: String? {
        for interface in SmallFile.names(in: self.directory) where self.isWireless(interface) {
            guard let name = self.ask(interface).flatMap(Self.text) else { continue }
            return name
        }
        return nil
    }

    private func isWireless(_ interface: String) -> Bool {
        let kinds = SmallFile.names(in: "\(self.directory)/\(interface)")
        return kinds.contains("wireless") || kinds.contains("phy80211")
    }

    /// Returns a network's name of 1 to 32 bytes as text; `nil` for an empty name. Old drivers add a zero byte at the
    /// end.
    static func text(_ name: [UInt8]) -> String? {
        let bytes = name.prefix(Self.longestName).prefix { $0 != 0 }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Asks the kernel for the name of the network to which a wireless interface is connected; `nil` without an answer.
    ///
    /// The `struct iwreq` of the request consists of the interface's name in 16 bytes, the address of a buffer, and the
    /// buffer's length and flags, of 2 bytes each.
    private static func kernel(_ interface: String) -> [UInt8]? {
        guard (1...Self.longestInterface).contains(interface.utf8.count) else { return nil }
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let question: UInt = 0x8B1B
        let lengthOffset = 16 + MemoryLayout<UnsafeMutableRawPointer>.size
        var name = [UInt8](repeating: 0, count: Self.longestName + 1)
        let length = name.withUnsafeMutableBytes { name -> Int? in
            var request = [UInt8](repeating: 0, count: 48)
            return request.withUnsafeMutableBytes { request -> Int? in
                request.copyBytes(from: interface.utf8)
                request.storeBytes(of: name.baseAddress, toByteOffset: 16, as: UnsafeMutableRawPointer?.self)
                request.storeBytes(of: UInt16(name.count), toByteOffset: lengthOffset, as: UInt16.self)
                guard let address = request.baseAddress, ioctl(descriptor, question, address) == 0 else { return nil }
                return Int(request.load(fromByteOffset: lengthOffset, as: UInt16.self))
            }
        }
        return length.map { Array(name.prefix($0)) }
    }
}
