import SystemLibrary
import GodwitOptions
import Logging
import TrackingCore
import TrackingStore

/// The history, a database of recorded positions, that a gateway shows to its users, if there is one.
struct ServedHistory {
    /// The history that the gateway shows; `nil` if the gateway runs with `--no-store`. The history's file may not
    /// exist yet.
    var store: (any HistoryStore)?
    /// The path of the SQLite file of the history; `nil` without a history and for a PostgreSQL server.
    var file: String?
    /// `true` if the gateway's own recorder stores into the history.
    var isRecordedHere = false
}

extension Serve {
    /// Opens the history that the gateway shows.
    ///
    /// With `--store` and without `--acknowledge-by`, the gateway records into the history, and creates a missing
    /// one. In all other cases, and if the SQLite file is not writable, it only reads the history and creates none. A
    /// missing history is then read once it exists. With `--no-store`, the gateway has no history.
    func openHistory() async throws -> ServedHistory {
        guard !self.noStore else { return ServedHistory() }
        let isRecordedHere = self.store.store != nil && self.intake.acknowledgeBy.isEmpty
        switch try self.store.location() {
        case .sqlite(let path): return try await self.openFile(path, isRecordedHere: isRecordedHere)
        case .postgres:
            let isAway: (TrackingError) -> Void = { error in
                Logger(label: "godwit.gateway").error(
                    "History server cannot be reached or has no history: requests for it get the status 503, and the gateway tries again at each request. Start the server, or start a recorder, which creates the history",
                    metadata: ["reason": "\(error.message)"]
                )
            }
            let store = try await self.store.open(
                mayMake: isRecordedHere, patience: .seconds(30), isAway: self.broker.failFast ? nil : isAway)
            return ServedHistory(store: store, isRecordedHere: isRecordedHere)
        }
    }

    private func openFile(_ path: String, isRecordedHere: Bool) async throws -> ServedHistory {
        let isThere = access(path, F_OK) == 0
        let mayWrite = !isThere || access(path, W_OK) == 0
        if isRecordedHere, mayWrite {
            let store = try await StorePatience.trying([.storeBusy]) { () throws(TrackingError) in
                try await self.store.open(mayMake: true)
            }
            return ServedHistory(store: store, file: path, isRecordedHere: true)
        }
        if isRecordedHere {
            Logger(label: "godwit.gateway").warning(
                "History file is not writable: the gateway reads from it, but records nothing into it. Name the recorder of the history with --acknowledge-by",
                metadata: ["path": "\(path)"]
            )
        }
        if isThere || (self.store.store != nil && self.broker.failFast) {
            return ServedHistory(store: try await self.store.open(mayMake: false), file: path)
        }
        return ServedHistory(store: AwaitedHistoryStore(path: path), file: path)
    }
}
