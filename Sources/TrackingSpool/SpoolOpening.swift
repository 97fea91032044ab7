import FoundationEssentials
import TrackingCore
import TrackingSQLite

/// Opens the file of a device's log under a lock, or makes a new log. Salvages a damaged log first.
struct SpoolOpening {
    let path: String
    let checkedSize: Int64
    let now: UnixTime

    /// The path at which a new log is written during the salvage of a damaged one.
    private var draft: String { self.path + ".draft" }
    /// The path at which a complete new log waits until it takes the place of the damaged log.
    private var next: String { self.path + ".new" }
    private var wish: String { self.path + ".salvage" }

    /// Makes a file beside the log, so that the log is salvaged when it is opened the next time.
    static func wantSalvage(of path: String) {
        _ = FileManager.default.createFile(atPath: path + ".salvage", contents: nil)
    }

    func run() throws -> (SpoolFile, SpoolContents) {
        // The file is examined before any file is made beside it.
        if !self.exists(self.wish), LogTraces(path: self.path).areMissing { throw self.isForeign }
        let lock = try SpoolLock(log: self.path)
        try self.finishSalvage()
        let closing = ClosingMark(log: self.path).take()
        var contents = SpoolContents()
        var file: SpoolFile?
        do {
            if let reason = self.knownDamage { throw SpoolDamage(reason: reason) }
            file = try self.open(closing)
        } catch {
            guard let reason = self.damage(error) else { throw error }
            let hasOtherTables = (error as? SpoolDamage)?.hasOtherTables ?? false
            if hasOtherTables, LogTraces(path: self.path).areMissing { throw self.isForeign }
            file = try self.salvageOrOpen(reason, &contents)
        }
        let opened = try file ?? self.open(nil)
        opened.lock = lock
        contents.trackables = opened.book.trackables
        contents.state = try opened.loadState()
        return (opened, contents)
    }

    private var isForeign: TrackingError {
        TrackingError(
            .spoolFailed,
            "cannot open the log \(self.path): the file is not a log, and it was not changed. Name another file, or move this one"
        )
    }

    private func open(_ closing: ClosingMark.Closing?) throws -> SpoolFile {
        let file = try SpoolFile(path: self.path, isOrderly: closing != nil, checkedSize: self.checkedSize)
        _ = try file.loadState()
        // A page of the index may be intact but older than the rest of the file.
        if let closing, closing.digest != file.book.digest {
            throw SpoolDamage(reason: "its index does not list the records that the log had when it was last closed")
        }
        return file
    }

    /// A description of damage to the log that is known before its file is opened. The file that requests a salvage
    /// exists, or the write-ahead log is damaged or belongs to an empty file. `nil` if no damage is known.
    private var knownDamage: String? {
        if FileManager.default.fileExists(atPath: self.wish) { return "parts of it could not be read" }
        return self.damageAhead
    }

    /// A description of damage to the write-ahead log that SQLite would not report: SQLite would delete that log, or
    /// ignore a part of it. `nil` if there is none.
    private var damageAhead: String? {
        // SQLite would delete the write-ahead log of an empty file.
        if LogRows.size(of: self.path) == 0, LogRows.size(of: self.path + "-wal") > 0 { return "the file is empty" }
        if WriteAheadCheck.isDamaged(self.path + "-wal") { return "its write-ahead log is damaged" }
        return nil
    }

    /// Returns a description of the damage to the log that an error shows; `nil` if the error has another cause: the
    /// disk, the memory, permissions, another program, or another version of the log.
    private func damage(_ error: any Error) -> String? {
        if let damage = error as? SpoolDamage { return damage.reason }
        guard let error = error as? SQLiteError else { return nil }
        switch error.code {
        case .busy, .locked, .full, .outOfMemory, .cannotOpen, .permissionDenied, .unauthorized: return nil
        case .inputOutput: return error.extendedCode == .shortRead ? error.message : nil
        // SQLite also reports a damaged header as read-only. It is damage if the file's permissions allow writing.
        case .readOnly: return FileManager.default.isWritableFile(atPath: self.path) ? error.message : nil
        default: return error.message
        }
    }

    // MARK: - Salvage

    /// Salvages a damaged log: copies the intact records into a new log, renames the damaged one, and puts the new one
    /// in its place. An interruption at any point loses nothing.
    ///
    /// - Returns: `nil` after the salvage. If a new log cannot be made, the damaged log, opened, if it is still usable;
    ///   otherwise an error is thrown.
    private func salvageOrOpen(_ reason: String, _ contents: inout SpoolContents) throws -> SpoolFile? {
        Self.wantSalvage(of: self.path)
        try self.remove(self.next)
        var report: SpoolSalvage
        do {
            report = try self.makeDraft(reason)
        } catch {
            // The incomplete new log would take the last room on the disk.
            self.removeDraft()
            guard let file = self.openAsItIs() else { throw error }
            contents.damage = "\(reason); a new log could not be made: \(error)"
            return file
        }
        try FileManager.default.moveItem(atPath: self.draft, toPath: self.next)
        report.path = try self.setAside()
        (report.keptFiles, report.keptBytes) = self.kept
        try self.finishSalvage()
        contents.salvage = report
        return nil
    }

    private func makeDraft(_ reason: String) throws -> SpoolSalvage {
        try self.remove(self.draft)
        let file = try SpoolFile(path: self.draft, isOrderly: true, checkedSize: 0)
        let report = try SpoolSalvager.salvage(self.path, into: file, reason: reason)
        try file.close()
        try self.remove(self.draft + ".reserve")
        return report
    }

    private func removeDraft() {
        for name in [self.draft, self.draft + ".reserve"] { try? self.remove(name) }
    }

    /// Opens the damaged log without salvaging it, because no new log could be made. The salvage is tried again when
    /// the log is opened the next time. Returns `nil` if the log cannot be opened, or if new records could overwrite
    /// something that can still be salvaged.
    private func openAsItIs() -> SpoolFile? {
        guard self.exists(self.path), self.damageAhead == nil else { return nil }
        let file = try? SpoolFile(path: self.path, isOrderly: false, checkedSize: .max, isDamaged: true)
        return (try? file?.loadState()) == nil ? nil : file
    }

    /// Renames the damaged log and its write-ahead log.
    ///
    /// - Returns: The new path of the damaged log.
    private func setAside() throws -> String {
        let time = Date(timeIntervalSince1970: self.now.seconds).formatted(
            .iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
        var aside = self.path + ".damaged-" + time
        var number = 1
        while self.exists(aside) || self.exists(aside + "-wal") {
            number += 1
            aside = "\(self.path).damaged-\(time)-\(number)"
        }
        // The file is renamed first. After an interruption, a write-ahead log without its file is detected; the reverse
        // is not.
        if self.exists(self.path) { try FileManager.default.moveItem(atPath: self.path, toPath: aside) }
        if self.exists(self.path + "-wal") {
            try FileManager.default.moveItem(atPath: self.path + "-wal", toPath: aside + "-wal")
        }
        return aside
    }

    /// The number of renamed damaged logs that still exist, and their total size in bytes.
    private var kept: (files: Int, bytes: Int) {
        let url = URL(filePath: self.path)
        let folder = url.deletingLastPathComponent()
        let names =
            (try? FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))) ?? []
        let paths = names.filter { $0.hasPrefix(url.lastPathComponent + ".damaged-") }
            .map { folder.appending(path: $0).path(percentEncoded: false) }
        return (paths.count, paths.reduce(0) { $0 + LogRows.size(of: $1) })
    }

    /// Moves a complete salvaged log to the path of the damaged log, if the damaged log was already renamed. Then
    /// deletes the file that requests the salvage.
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
