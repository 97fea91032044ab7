public import TrackingCore
import TrackingRuntime
import TrackingSpool

/// The place where a publisher's log is stored. The log holds each record (a point, a trip or an event) until the
/// record is acknowledged, within the limits of the log.
public enum PublisherLog: Hashable, Sendable {
    /// The log is an SQLite file named after the client id, in the user's state folder. That folder is
    /// `$STATE_DIRECTORY`, else `$XDG_STATE_HOME/godwit`, else `~/.local/state/godwit`.
    case stateFolder
    /// The log is an SQLite file at this path. The folder of the file must exist.
    case file(String)
    /// The log is in memory. It holds at most the last 100,000 records, and they are lost when the program ends.
    case memory

    /// Makes the storage for the log of the publisher with this client id. The log's file is opened later, when the
    /// publisher runs.
    ///
    /// - Throws: `inputUnreadable` when the state folder cannot be created.
    public func makeStorage(for client: ClientID) throws(TrackingError) -> any SpoolStorage {
        switch self {
        case .stateFolder:
            SQLiteSpool(
                path: try StateFolder.path(for: "publisher-\(client).sqlite", option: "the parameter 'log'"))
        case .file(let path): SQLiteSpool(path: path)
        case .memory: InMemorySpool()
        }
    }
}
