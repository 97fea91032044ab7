public import TrackingCore
import TrackingRuntime
import TrackingSpool

/// The place of a publisher's log, which keeps each record until it is acknowledged.
public enum PublisherLog: Hashable, Sendable {
    /// A file named after the client id, in the user's state folder: `$STATE_DIRECTORY`, else `$XDG_STATE_HOME/godwit`, else
    /// `~/.local/state/godwit`.
    case stateFolder
    /// The file with this path. Its folder must exist.
    case file(String)
    /// Memory: the last 100,000 records, which are lost with the program.
    case memory

    /// Makes the storage of a publisher. The file is opened when the publisher runs.
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
