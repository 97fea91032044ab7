import Foundation
import Synchronization

/// A private D-Bus bus for one test, on a socket in a temporary folder. It permits everything.
///
/// The bus ends at the latest when the last reference to this object is released.
public final class PrivateBus: Sendable {
    /// The address of the bus, in the form of `DBUS_SYSTEM_BUS_ADDRESS`.
    public let address: String
    private let folder: URL
    private let process: ChildProcess

    /// Starts a bus, and returns when it accepts connections.
    ///
    /// - Throws: `TestSupportError` that names the missing program or contains the log of the bus.
    public static func start() async throws -> PrivateBus {
        let bus = try PrivateBus()
        let deadline = ContinuousClock.now + .seconds(60)
        // The daemon prints its address when it listens.
        while !bus.log.contains("unix:path=") {
            guard bus.process.isRunning, ContinuousClock.now < deadline else {
                throw TestSupportError("dbus-daemon did not start: \(bus.log)")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        return bus
    }

    private init() throws {
        let program = "/usr/bin/dbus-daemon"
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw TestSupportError("\(program) is missing: apt-get install dbus-daemon")
        }
        let name = "godwit-bus-\(UUID().uuidString.prefix(8))"
        self.folder = FileManager.default.temporaryDirectory.appending(path: name)
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.address = "unix:path=\(self.folder.appending(path: "bus").path())"
        let configuration = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <listen>\(self.address)</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow user="*"/>
                <allow own="*"/>
                <allow send_destination="*"/>
                <allow receive_sender="*"/>
              </policy>
            </busconfig>
            """
        let file = self.folder.appending(path: "bus.conf")
        try Data(configuration.utf8).write(to: file)
        self.process = try ChildProcess(
            program, ["--config-file=\(file.path())", "--nofork", "--nopidfile", "--print-address=1"],
            output: self.folder.appending(path: "log").path())
    }

    deinit {
        self.process.signal(SIGKILL)
        try? FileManager.default.removeItem(at: self.folder)
    }

    private var log: String {
        (try? String(contentsOf: self.folder.appending(path: "log"), encoding: .utf8)) ?? ""
    }

    /// Ends the bus with all its connections, and returns after its end.
    public func end() async throws {
        self.process.signal(SIGTERM)
        try await self.process.waitForEnd()
    }
}
