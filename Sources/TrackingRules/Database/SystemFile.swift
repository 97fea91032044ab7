import SystemLibrary

/// The creation of a file with restricted permissions, which Foundation and GRDB do not offer.
enum SystemFile {
    /// Creates a file that only its owner can read and write. Does nothing if the file exists or cannot be created.
    static func createPrivate(_ path: String) {
        close(open(path, O_CREAT | O_CLOEXEC, 0o600))
    }
}
