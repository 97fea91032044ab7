import GRDB
import Glibc
import TrackingCore

/// The files that an open history is in. What is written after they were removed or moved, nobody finds again.
struct OpenFiles {
    /// Tells a file from another that comes in its place.
    private struct Identity: Equatable {
        var device: dev_t
        var inode: ino_t

        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (self.device, self.inode) = (status.st_dev, status.st_ino)
        }
    }

    private let files: [(path: String, identity: Identity?)]

    /// Looks which files a database is in: its own and the write-ahead log.
    init(_ db: Database) throws {
        // Beside the file itself, where the path is a link.
        let path = try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'") ?? ""
        self.files = [path, "\(path)-wal"].map { ($0, Identity($0)) }
    }

    /// Makes sure that they are where they were.
    ///
    /// - Throws: `storeFailed`.
    func check() throws(TrackingError) {
        for file in self.files where Identity(file.path) != file.identity {
            throw TrackingError(
                .storeFailed,
                "\(file.path) was removed or replaced while the history was open, and nothing more is stored in what is gone: "
                    + "put it back, or start the program again")
        }
    }
}
