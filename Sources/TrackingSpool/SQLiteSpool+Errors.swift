import TrackingCore
import TrackingSQLite

/// The conversion of errors of SQLite and of the log's file to ``TrackingError``.
extension SQLiteSpool {
    /// Converts an error to a ``TrackingError`` for the caller. If the log is damaged, also makes a file beside it.
    /// Because of this file, the log is salvaged when it is opened the next time.
    func explain(_ error: any Error) -> TrackingError {
        switch error {
        case let error as TrackingError: return error
        case let error as SpoolDamage:
            SpoolOpening.wantSalvage(of: self.path)
            return TrackingError(
                .spoolDamaged,
                "the log \(self.path) is damaged: \(error.reason). Open it again: its readable records are recovered")
        case let error as SQLiteError:
            guard [.corrupt, .notADatabase].contains(error.code) else {
                let isBarred = [.cannotOpen, .readOnly].contains(error.code)
                let advice =
                    isBarred
                    ? ". Check that its folder exists and that this user may write there"
                    : ". Free space on the disk, or replace the disk if it fails"
                return TrackingError(.spoolFailed, "cannot use the log \(self.path): \(error)\(advice)")
            }
            SpoolOpening.wantSalvage(of: self.path)
            return TrackingError(
                .spoolDamaged,
                "the log \(self.path) is damaged: \(error). Open it again: its readable records are recovered")
        default: return TrackingError(.spoolFailed, "cannot use the log \(self.path): \(error)")
        }
    }
}
