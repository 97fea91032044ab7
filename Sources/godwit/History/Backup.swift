import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingStore

/// `godwit backup`: a copy of the history, while a recorder goes on.
struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy the history into a new file, while it is being recorded.",
        discussion: """
            The copy is a history like any other: give it as --store sqlite:FILE, or put it in the place of the lost one. Of a \
            history in SQLite; PostgreSQL has pg_dump.
            """)

    @Argument(help: ArgumentHelp("The file, which must not be there yet.", valueName: "file"))
    var output: String

    @OptionGroup var store: StoreOptions
    @OptionGroup var file: FileOptions

    func validate() throws {
        // Other commands write to standard output then.
        guard self.output != "-" else {
            throw ValidationError(
                "a history is copied into a file, not to standard output: name one, or ./- for a file of that name")
        }
    }

    func run() async throws {
        try await self.store.use { store in
            guard let store = store as? SQLiteHistoryStore else {
                throw TrackingError(
                    .invalidConfiguration,
                    "a history in PostgreSQL is backed up with its own tool: pg_dump --format=custom --schema=godwit --file=FILE DATABASE"
                )
            }
            let file = SQLiteHistoryStore.backupDraft(of: self.output)
            let draft = Draft(file, "\(file)-journal")
            defer { withExtendedLifetime(draft) {} }
            try await store.backup(to: self.output)
        }
    }
}
