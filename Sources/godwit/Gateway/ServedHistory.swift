import Glibc
import GodwitOptions
import Logging
import TrackingCore
import TrackingStore

/// The history of a gateway.
struct ServedHistory {
    /// The store; `nil` for none.
    var store: (any HistoryStore)?
    /// The file; `nil` where there is no store, or on a server.
    var file: String?
    /// A Boolean value that indicates whether the gateway's own recorder stores into it.
    var isRecordedHere = false
}

extension Serve {
    /// Opens the history. The one that `--store` names is made, and recorded by this program, unless `--acknowledge-by` names a
    /// recorder. Any other one is only read, as soon as it exists.
    func openHistory() async throws -> ServedHistory {
        guard !self.noStore else { return ServedHistory() }
        let isRecordedHere = self.store.store != nil && self.intake.acknowledgeBy.isEmpty
        switch try self.store.location() {
        case .sqlite(let path): return try await self.openFile(path, isRecordedHere: isRecordedHere)
        case .postgres:
            let isAway: (TrackingError) -> Void = { error in
                Logger(label: "godwit.gateway").error(
                    "the history is away: it is asked again with each request", metadata: ["reason": "\(error.message)"]
                )
            }
            let store = try await self.store.open(
                mayMake: false, patience: .seconds(30), isAway: self.broker.failFast ? nil : isAway)
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
                "History is read only: this program cannot write it, and does not record", metadata: ["path": "\(path)"]
            )
        }
        if isThere || (self.store.store != nil && self.broker.failFast) {
            return ServedHistory(store: try await self.store.open(mayMake: false), file: path)
        }
        return ServedHistory(store: AwaitedHistoryStore(path: path), file: path)
    }
}
