import TrackingCore

/// The right to write without a query. A store that writes alone has the turn: as long as the row of the table
/// `turn` has its number, no other program has written, and the contents that the store knows are valid. If several
/// programs write, none has the turn: each locks the rows of a batch's trackables and compares their column
/// `changes`.
struct PostgresTurn {
    /// So many commits a store writes as one of several, after another took the turn from it.
    static let commitsAmongOthers = 1000

    private var name: Int64 = 0
    /// The transaction that wrote the name: of a row that was put back from a copy it is another.
    private var writer = "0"
    /// The number in the row when this store last wrote without the turn.
    private var seen: Int64?
    /// `true` if this store had the turn when it last looked.
    private(set) var isHeld = false
    private var left = 0

    /// The result of looking at the row in a transaction.
    enum Found {
        /// Nobody has written since: what is known is so.
        case alone
        /// Nobody else writes until the transaction ends; nothing that is known may be so.
        case taken
        /// Others write as well; what is known of a trackable is so while its row has the known version.
        case shared
        /// The same, and nothing that is known may be so.
        case sharedAnew
    }

    /// Rows are gone that never go.
    static let replaced = TrackingError(
        .storeFailed, "the history in PostgreSQL was put back from a copy, or is being put back: it is read anew")

    /// Stops relying on the turn.
    mutating func giveUp() { self.isHeld = false }

    /// Begins a transaction of one who has it, and asks whether that is so still: ``answer(_:)`` tells.
    func ask(_ connection: PostgresConnection) throws(TrackingError) {
        try connection.send(
            "BEGIN; SELECT FROM turn WHERE holder = \(self.name) AND xmin = '\(self.writer)' FOR UPDATE")
    }

    /// Returns the result of looking at the row in the transaction.
    mutating func answer(_ connection: PostgresConnection) throws(TrackingError) -> Found {
        guard try connection.sentCount() != 1 else { return .alone }
        (self.isHeld, self.left) = (false, Self.commitsAmongOthers)
        _ = try self.share(connection)
        return .sharedAnew
    }

    /// Begins a transaction of one who writes.
    mutating func begin(_ connection: PostgresConnection) throws(TrackingError) -> Found {
        if self.isHeld {
            try self.ask(connection)
            return try self.answer(connection)
        }
        try connection.runAll("BEGIN")
        guard self.left == 0 else {
            self.left -= 1
            return try self.share(connection)
        }
        self.name = Int64.random(in: 1 ... .max)
        let taken = try connection.run("UPDATE turn SET holder = $1 RETURNING xmin::text", [.int(self.name)])
        guard taken.count == 1 else { throw Self.replaced }
        self.writer = taken.text(0, 0)
        self.isHeld = true
        return .taken
    }

    private mutating func share(_ connection: PostgresConnection) throws(TrackingError) -> Found {
        // It waits for one who writes alone.
        let takenAway = try connection.run("UPDATE turn SET holder = -holder WHERE holder > 0 RETURNING holder")
        guard takenAway.count == 0 else { return self.see(takenAway.integer(0, 0)) }
        let holders = try connection.run("SELECT holder FROM turn FOR SHARE")
        guard holders.count == 1 else { throw Self.replaced }
        let holder = holders.integer(0, 0)
        guard holder > 0 else { return self.see(holder) }
        // Somebody took it meanwhile. Two who both hold the row, and both want to change it, would wait for each other.
        try connection.runAll("ROLLBACK; BEGIN")
        return try self.share(connection)
    }

    private mutating func see(_ holder: Int64) -> Found {
        defer { self.seen = holder }
        return holder == self.seen ? .shared : .sharedAnew
    }
}
