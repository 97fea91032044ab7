private import SystemLibrary
import TrackingCore
import TrackingRuntime

/// Connects to the D-Bus system bus of this device.
enum SystemBus {
    /// The environment variable that names another system bus.
    private static let variable = "DBUS_SYSTEM_BUS_ADDRESS"

    /// Connects to the first reachable address of the system bus.
    ///
    /// - Parameters:
    ///   - text: The addresses of the bus; `nil` for those in the environment, or else the usual one.
    ///   - name: The name of the source in error messages.
    /// - Throws: `inputUnreadable` when no address can be reached, or the text has none.
    static func connect(_ text: String?, name: String, waiter: Waiter) throws(TrackingError) -> ByteChannel {
        let text = text ?? getenv(Self.variable).map { String(cString: $0) } ?? DBusAddress.system
        var failure = TrackingError(.inputUnreadable, "no positions from \(name): there is no system bus")
        do throws(TrackingError) {
            for address in try DBusAddress.parse(text) {
                let (descriptor, error) = Self.open(address)
                if error == 0 { return ByteChannel(descriptor, name: name, waiter: waiter) }
                if descriptor >= 0 { close(descriptor) }
                failure = TrackingError(
                    .inputUnreadable,
                    "no positions from \(name): cannot connect to the system bus at \(address.name): \(SystemError.text(error)). Install and start D-Bus, or set \(Self.variable) to its address"
                )
            }
        } catch {
            failure = TrackingError(.inputUnreadable, "no positions from \(name): \(error.message)")
        }
        throw failure
    }

    /// Connects to one address.
    ///
    /// - Returns: The socket, -1 if there is none, and the error number; 0 after a success.
    private static func open(_ target: DBusAddress) -> (descriptor: Int32, error: Int32) {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { return (-1, errno) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: target.bytes) }
        // An abstract name may end with zero bytes, so its length must be exact. The path is a stored property.
        let length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + target.bytes.count)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                SystemLibrary.connect(descriptor, $0, length)
            }
        }
        return (descriptor, result == 0 ? 0 : errno)
    }
}
