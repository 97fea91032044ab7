import CMosquitto
import Glibc

/// What libmosquitto needs once a process, before any thread uses it.
enum MosquittoLibrary {
    /// `/dev/null`, which takes the place of each client's socket pair; -1 where it cannot be opened.
    static let devNull: Int32 = open("/dev/null", O_RDWR | O_CLOEXEC)

    private static let initialized: Bool = {
        mosquitto_lib_init()
        return true
    }()

    /// Initialises the library, once.
    static func load() { _ = (self.initialized, self.devNull) }
}
