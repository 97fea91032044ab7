import CMosquitto
import SystemLibrary

/// The initialisation of libmosquitto, once for the process and before any use.
enum MosquittoLibrary {
    /// A descriptor of `/dev/null`, which replaces each client's socket pair; -1 if it cannot be opened.
    static let devNull: Int32 = open("/dev/null", O_RDWR | O_CLOEXEC)

    private static let initialized: Bool = {
        mosquitto_lib_init()
        return true
    }()

    /// Initialises the library once.
    static func load() { _ = (self.initialized, self.devNull) }
}
