import Foundation
import Testing

@testable import TrackingPublisher

@Suite struct WirelessNetworkTests {
    /// A folder like `/sys/class/net` with these interfaces, wireless where their name begins with `w`.
    private func withInterfaces(_ names: [String], _ body: (String) throws -> Void) throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "net-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        for name in names {
            let folder = root.appending(path: name).appending(path: name.hasPrefix("w") ? "phy80211" : "queues")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        try body(root.path())
    }

    @Test func theFirstConnectedWirelessInterfaceSuppliesTheName() throws {
        try self.withInterfaces(["eth0", "wlan0", "wlan1"]) { folder in
            let network = WirelessNetwork(directory: folder) { interface in
                interface == "wlan0" ? [] : Array("net of \(interface)".utf8)
            }
            #expect(network.name == "net of wlan1")
        }
    }

    @Test func withoutAWirelessInterfaceThereIsNone() throws {
        try self.withInterfaces(["eth0", "lo"]) { folder in
            #expect(WirelessNetwork(directory: folder) { _ in Array("x".utf8) }.name == nil)
        }
        #expect(WirelessNetwork(directory: "/nonexistent").name == nil)
    }

    /// Interfaces that the kernel does not know are asked for, which exercises the question itself.
    @Test func anInterfaceThatTheKernelDoesNotKnowHasNone() throws {
        try self.withInterfaces(["wnone0", "w-a-name-that-is-too-long"]) { folder in
            #expect(WirelessNetwork(directory: folder).name == nil)
        }
    }

    @Test(arguments: [
        ("home", "home" as String?), ("home\0", "home"), ("", nil), ("\0hidden", nil), ("caf\u{E9}", "caf\u{E9}"),
        (String(repeating: "x", count: 40), String(repeating: "x", count: 32)),
    ])
    func aNameIsUpTo32Bytes(bytes: String, expected: String?) {
        #expect(WirelessNetwork.text(Array(bytes.utf8)) == expected)
        #expect(WirelessNetwork.text([0xFF]) == "\u{FFFD}")
    }
}
