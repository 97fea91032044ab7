import GRDB
import SystemLibrary
import TrackingCore

/// The files of an open history, to detect that they were removed or replaced. Data that is written after that would be
/// lost.
struct OpenFiles {
    /// The identity of a file, which differs from that of a file that replaces it.
    private struct Identity: Equatable {
        var device: dev_t
        var inode: ino_t
        /// The size and the time of the last write of a file that is read without locks.
        var written: [Int] = []

        init?(_ path: String, isUnlocked: Bool) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (self.device, self.inode) = (status.st_dev, status.st_ino)
            if isUnlocked { self.written = [status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec] }
        }
    }

    private let files: [(path: String, identity: Identity?)]
    /// `true` if the files are read without locks, because no program can write them.
    let areUnlocked: Bool

    /// Stores the identities of the files of a database: its own file and the write-ahead log.
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

    /// Checks that the files are at their paths.
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

    /// `true` if the files were changed or replaced since they were opened.
    var haveChanged: Bool { self.changed != nil }

    private var changed: String? {
        self.files.first { Identity($0.path, isUnlocked: self.areUnlocked) != $0.identity }?.path
    }
}
