import CMosquitto
import SystemLibrary

/// The initialisation of libmosquitto, once for the process and before any use.
enum MosquittoLibrary {
    /// A descriptor of `/dev/null`, or -1 if it cannot be opened. Each libmosquitto client uses it in place of a pair
    /// of sockets of its own, which is not needed.
    static let devNull: Int32 = open("/dev/null", O_RDWR | O_CLOEXEC)

    private static let initialized: Bool = {
        mosquitto_lib_init()
        return true
    }()

    /// Initialises libmosquitto at the first call; later calls do nothing.
    static func load() { _ = (self.initialized, self.devNull) }
}
