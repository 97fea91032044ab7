import SystemLibrary

/// The system calls that Foundation and GRDB do not offer.
enum SystemFile {
    /// Creates a file that only its owner can read and write, unless the file exists.
    static func createPrivate(_ path: String) {
        close(open(path, O_CREAT | O_CLOEXEC, 0o600))
    }
}
