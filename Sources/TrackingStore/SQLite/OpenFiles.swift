import GRDB
import Glibc
import TrackingCore

/// The files that an open history is in. What is written after they were removed or moved, nobody finds again.
struct OpenFiles {
    /// Tells a file from another that comes in its place.
    private struct Identity: Equatable {
        var device: dev_t
        var inode: ino_t
        /// Its size, and when it was written, where SQLite is not told of that.
        var written: [Int] = []

        init?(_ path: String, isUnlocked: Bool) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (self.device, self.inode) = (status.st_dev, status.st_ino)
            if isUnlocked { self.written = [status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec] }
        }
    }

    private let files: [(path: String, identity: Identity?)]
    /// Whether they are read without locks, as if nobody wrote them.
    let areUnlocked: Bool

    /// Looks which files a database is in: its own and the write-ahead log.
    init(_ db: Database, areUnlocked: Bool) throws {
        // Beside the file itself, where the path is a link.
        let path = try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'") ?? ""
        let log = "\(path)-wal"
        self.files = [
            (path, Identity(path, isUnlocked: areUnlocked)),
            // Who writes has one.
            (log, areUnlocked ? nil : Identity(log, isUnlocked: false)),
        ]
        self.areUnlocked = areUnlocked
    }

    /// Makes sure that they are where they were.
    ///
    /// - Throws: `storeFailed`.
    func check() throws(TrackingError) {
        guard let changed = self.changed else { return }
        throw TrackingError(
            .storeFailed,
            "\(changed) was removed or replaced while the history was open, and nothing more is stored in what is gone, nor read "
                + "from it: put it back, or start the program again")
    }

    /// Whether they are not as they were.
    var haveChanged: Bool { self.changed != nil }

    private var changed: String? {
        self.files.first { Identity($0.path, isUnlocked: self.areUnlocked) != $0.identity }?.path
    }
}
