import Foundation
import GRDB
import TrackingCore

/// Opens a log, whatever state it is in.
struct SpoolOpening {
    let path: String
    let checkedSize: Int64
    let now: UnixTime

    /// Where a log is made anew.
    private var draft: String { self.path + ".draft" }
    /// Where it waits, complete, to take the place of the damaged one.
    private var next: String { self.path + ".new" }
    private var wish: String { self.path + ".salvage" }

    /// Notes beside the log that it is to be salvaged when it is opened the next time.
    static func wantSalvage(of path: String) {
        _ = FileManager.default.createFile(atPath: path + ".salvage", contents: nil)
    }

    func run() throws -> (SpoolFile, SpoolContents) {
        // Before anything is made beside it.
        if !self.exists(self.wish), LogTraces(path: self.path).areMissing { throw self.isForeign }
        let lock = try SpoolLock(log: self.path)
        try self.finishSalvage()
        let mark = ClosingMark(log: self.path)
        let isOrderly = mark.take()
        var salvage: SpoolSalvage?
        var file: SpoolFile?
        do {
            if let reason = self.knownDamage { throw SpoolDamage(reason: reason) }
            file = try self.open(isOrderly: isOrderly)
        } catch {
            guard let reason = self.damage(error) else { throw error }
            let hasOtherTables = (error as? SpoolDamage)?.hasOtherTables ?? false
            if hasOtherTables, LogTraces(path: self.path).areMissing { throw self.isForeign }
            salvage = try self.salvage(reason)
        }
        let opened = try file ?? self.open(isOrderly: false)
        opened.lock = lock
        return (
            opened, SpoolContents(trackables: opened.book.trackables, state: try opened.loadState(), salvage: salvage)
        )
    }

    private var isForeign: TrackingError {
        TrackingError(
            .spoolFailed,
            "the file \(self.path) is not a log and was left as it is: name another with --spool, or move it away")
    }

    private func open(isOrderly: Bool) throws -> SpoolFile {
        let file = try SpoolFile(path: self.path, isOrderly: isOrderly, checkedSize: self.checkedSize)
        _ = try file.loadState()
        return file
    }

    /// What is known to be wrong before the file is opened.
    private var knownDamage: String? {
        if FileManager.default.fileExists(atPath: self.wish) { return "parts of it could not be read" }
        // SQLite would delete the write-ahead log of an empty file.
        if LogRows.size(of: self.path) == 0, LogRows.size(of: self.path + "-wal") > 0 { return "the file is empty" }
        if WriteAheadCheck.isDamaged(self.path + "-wal") { return "its write-ahead log is damaged" }
        return nil
    }

    /// What is wrong with the file; `nil` when it is the disk, or another program.
    private func damage(_ error: any Error) -> String? {
        if let damage = error as? SpoolDamage { return damage.reason }
        guard let error = error as? DatabaseError else { return nil }
        let reason = error.message ?? error.resultCode.description
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_FULL, .SQLITE_NOMEM, .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH:
            return nil
        case .SQLITE_IOERR: return error.extendedResultCode == .SQLITE_IOERR_SHORT_READ ? reason : nil
        // The file says it of itself, if it may be written.
        case .SQLITE_READONLY: return FileManager.default.isWritableFile(atPath: self.path) ? reason : nil
        default: return reason
        }
    }

    // MARK: - Salvage

    /// Makes the log anew beside the damaged one, sets that one aside and puts the new one in its place: whenever this is
    /// cut short, nothing is lost.
    private func salvage(_ reason: String) throws -> SpoolSalvage {
        Self.wantSalvage(of: self.path)
        try self.remove(self.draft)
        try self.remove(self.next)
        let file = try SpoolFile(path: self.draft, isOrderly: true, checkedSize: 0)
        var report = try SpoolSalvager.salvage(self.path, into: file, reason: reason)
        try file.close()
        try self.remove(self.draft + ".reserve")
        try FileManager.default.moveItem(atPath: self.draft, toPath: self.next)
        report.path = try self.setAside()
        (report.keptFiles, report.keptBytes) = self.kept
        try self.finishSalvage()
        return report
    }

    /// Renames the log and what belongs to it.
    private func setAside() throws -> String {
        let time = Date(timeIntervalSince1970: self.now.seconds).formatted(
            .iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
        var aside = self.path + ".damaged-" + time
        var number = 1
        while self.exists(aside) || self.exists(aside + "-wal") {
            number += 1
            aside = "\(self.path).damaged-\(time)-\(number)"
        }
        // The file first: a write-ahead log without one is seen, a file without its write-ahead log is not.
        if self.exists(self.path) { try FileManager.default.moveItem(atPath: self.path, toPath: aside) }
        if self.exists(self.path + "-wal") {
            try FileManager.default.moveItem(atPath: self.path + "-wal", toPath: aside + "-wal")
        }
        return aside
    }

    /// How many files were set aside so far, and how many bytes they have.
    private var kept: (files: Int, bytes: Int) {
        let url = URL(filePath: self.path)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path())) ?? []
        let paths = names.filter { $0.hasPrefix(url.lastPathComponent + ".damaged-") }
            .map { url.deletingLastPathComponent().appending(path: $0).path() }
        return (paths.count, paths.reduce(0) { $0 + LogRows.size(of: $1) })
    }

    /// Puts a log that was made anew in the place of the one that was set aside.
    private func finishSalvage() throws {
        guard self.exists(self.next), !self.exists(self.path) else { return }
        if self.exists(self.path + "-wal") { _ = try self.setAside() }
        try FileManager.default.moveItem(atPath: self.next, toPath: self.path)
        try self.remove(self.wish)
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    private func remove(_ path: String) throws {
        for name in [path, path + "-wal"] where self.exists(name) { try FileManager.default.removeItem(atPath: name) }
    }
}
