import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingStore

/// `godwit backup`: copies the history into a new file, also while a recorder stores into it.
struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy the history into a new file, while it is being recorded.",
        discussion: """
            The copy is a complete history: give it as --store sqlite:FILE, or put it in the place of a lost one. This \
            works for SQLite; for PostgreSQL, use pg_dump.

            Example:
              godwit backup /var/backups/history.sqlite
            """)

    @Argument(help: ArgumentHelp("The new file; it must not exist.", valueName: "file"))
    var output: String

    @OptionGroup var store: StoreOptions
    @OptionGroup var file: FileOptions

    func validate() throws {
        // A user may expect "-" to be standard output, as for other commands.
        guard self.output != "-" else {
            throw ValidationError(
                "a history cannot be copied to standard output. Name a file, or ./- for a file of that name")
        }
    }

    func run() async throws {
        try await self.store.use { store in
            guard let store = store as? SQLiteHistoryStore else {
                throw TrackingError(
                    .invalidConfiguration,
                    "godwit backup copies SQLite only. Back up PostgreSQL with: pg_dump --format=custom --schema=godwit --file=FILE DATABASE"
                )
            }
            let file = SQLiteHistoryStore.backupDraft(of: self.output)
            let draft = Draft(file, "\(file)-journal")
            defer { withExtendedLifetime(draft) {} }
            try await store.backup(to: self.output)
        }
    }
}
