import SystemLibrary
import TrackingCore

/// Looks for evidence that a file is, or once was, a device's log. A damaged log is salvaged, but a file of another
/// program is left unchanged.
///
/// Evidence is the SQL text of the log's tables on the first page, or an intact row of these tables on any page. The
/// write-ahead log may contain both as well. A file without content can become a log: an empty file,
/// a database without tables, or a file of zeroes.
struct LogTraces {
    let path: String

    private struct Found: Error {}

    private static let header = Array("SQLite format 3\0".utf8)
    private static let statements = SpoolSchema.statements.map { Array($0.utf8) }

    /// `true` if the file is readable, has content, and shows no evidence that it ever was a device's log. `false` for
    /// a file without content.
    var areMissing: Bool {
        var status = stat()
        // The attempt to open a path that is not a regular file reports the cause.
        guard stat(self.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            return false
        }
        let descriptor = open(self.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let first = Self.page(of: descriptor, at: 0)
        if Self.namesTables(first) || Self.hasNoTable(first) { return false }
        return !Self.isZero(descriptor) && !self.hasRows && !self.isNamedAhead
    }

    /// `true` if a page of the file or of its write-ahead log has an intact row of a device's log.
    private var hasRows: Bool {
        do {
            try LogRows(path: self.path).forEach { if Self.isEvidence($0) { throw Found() } }
            return false
        } catch { return true }
    }

    /// Returns `true` for a row that only a device's log contains.
    ///
    /// The checksum of a decoded row is verified, except that of a record: it depends on the id of the record's stream.
    /// If the row of the stream is intact, that row is evidence. If it is lost, the checksum cannot be verified, and
    /// the record must at least have a JSON object as its payload.
    private static func isEvidence(_ row: LogRow) -> Bool {
        switch row {
        case .stream, .quarantined, .value, .mark: true
        case .record(_, _, let record, _): (try? JSONValue(json: record.payload))?.object != nil
        }
    }

    /// `true` if the write-ahead log contains the SQL text of a log's tables. If the log was not closed, this text may
    /// be nowhere else.
    private var isNamedAhead: Bool {
        let descriptor = open(self.path + "-wal", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var offset = 32 + 24
        while case let page = Self.page(of: descriptor, at: offset), !page.isEmpty {
            if Self.namesTables(page) { return true }
            offset += 24 + SpoolSchema.pageSize
        }
        return false
    }

    private static func namesTables(_ page: [UInt8]) -> Bool {
        self.statements.contains { page.firstRange(of: $0) != nil }
    }

    /// Returns `true` if a page is the first page of an SQLite database without tables.
    private static func hasNoTable(_ page: [UInt8]) -> Bool {
        page.starts(with: self.header) && page.dropFirst(103).prefix(2).allSatisfy { $0 == 0 }
    }

    private static func isZero(_ descriptor: Int32) -> Bool {
        var offset = 0
        while case let page = self.page(of: descriptor, at: offset), !page.isEmpty {
            guard page.allSatisfy({ $0 == 0 }) else { return false }
            offset += page.count
        }
        return true
    }

    /// Returns the bytes of the page at a byte offset of the file. At the end of the file the result is shorter; beyond
    /// it, empty.
    private static func page(of descriptor: Int32, at offset: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: SpoolSchema.pageSize) { buffer, count in
            count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)))
        }
    }
}
