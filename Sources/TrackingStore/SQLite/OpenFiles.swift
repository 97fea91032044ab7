import GRDB
import SystemLibrary
import TrackingCore

/// The files of an open history database, to detect that they were removed or replaced. A program that still has
/// removed files open would write data that is lost.
struct OpenFiles {
    /// The identity of a file: its device and inode numbers. A file that replaces another one has a different identity.
    private struct Identity: Equatable {
        var device: dev_t
        var inode: ino_t
        /// The size and the last write time of the file; empty unless the database is read without locks.
        var written: [Int] = []

        init?(_ path: String, isUnlocked: Bool) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (self.device, self.inode) = (status.st_dev, status.st_ino)
            if isUnlocked { self.written = [status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec] }
        }
    }

    private let files: [(path: String, identity: Identity?)]
    /// `true` if SQLite reads the database's files without locks. It does so for a file that this program may not write
    /// and that has no write-ahead log.
    let areUnlocked: Bool

    /// Remembers the present identities of a database's files: the main file and the write-ahead log.
    init(_ db: Database, areUnlocked: Bool) throws {
        // If the path is a link, the write-ahead log is beside the file that the link names.
        let path = try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'") ?? ""
        let log = "\(path)-wal"
        self.files = [
            (path, Identity(path, isUnlocked: areUnlocked)),
            // A store that writes always has a write-ahead log.
            (log, areUnlocked ? nil : Identity(log, isUnlocked: false)),
        ]
        self.areUnlocked = areUnlocked
    }

    /// Checks that the database's files at their paths are still the files that were opened.
    ///
    /// - Throws: `storeFailed` if a file was removed or replaced.
    func check() throws(TrackingError) {
        guard let changed = self.changed else { return }
        throw TrackingError(
            .storeFailed,
            """
            cannot use the history: \(changed) was removed or replaced while the history was open. Put the file back, or \
            start the program again
            """)
    }

    /// `true` if a file of the database was removed or replaced since it was opened. For a database that is read
    /// without locks, also if the file was written.
    var haveChanged: Bool { self.changed != nil }

    private var changed: String? {
        self.files.first { Identity($0.path, isUnlocked: self.areUnlocked) != $0.identity }?.path
    }
}
