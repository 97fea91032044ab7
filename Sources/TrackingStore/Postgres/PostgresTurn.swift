import TrackingCore

/// The turn: the right of one of the stores that write to a history in PostgreSQL. The store that has the turn relies
/// on its cache of the tables, and need not compare the cache with the row of each trackable.
///
/// A store has the turn while the one row of the table `turn` contains the store's number. Then no other program has
/// written since. If several programs write, none has the turn. Each of them locks the rows of a batch's trackables,
/// and compares their column `changes` with its cache.
struct PostgresTurn {
    /// The number of transactions, 1,000, that a store writes without the turn (the right to rely on its cache) after
    /// it lost the turn to another program. Then it takes the turn again.
    static let commitsAmongOthers = 1000

    private var name: Int64 = 0
    /// The id of the transaction with which this store wrote its number into the table `turn`. After the database was
    /// restored from a backup, the row has another transaction id.
    private var writer = "0"
    /// The number in the table `turn` at the last transaction that this store wrote without the turn, the right to rely
    /// on its cache; `nil` if there was none. If the number is still the same, no store had the turn meanwhile.
    private var seen: Int64?
    /// `true` if this store had the turn, the right to rely on its cache, in its last transaction.
    private(set) var isHeld = false
    private var left = 0

    /// The state of the turn that a store finds in the table `turn` during a transaction. The turn is the right to rely
    /// on the cache.
    enum Found {
        /// This store has the turn, the right to rely on its cache of the tables. No other program has written since
        /// this store's last transaction, so the cache is valid.
        case alone
        /// This store has just taken the turn (the right to rely on its cache), so no other program writes until the
        /// transaction ends. Others have written before, so the cache is not valid.
        case taken
        /// Other programs write to the history as well, and this store does not have the turn, the right to rely on its
        /// cache without a check. Its cache of a trackable is valid while the column `changes` in the trackable's row
        /// is unchanged.
        case shared
        /// Other programs write as well, and this store does not have the turn, the right to rely on its cache. Another
        /// store may have had the turn since this store wrote last. Nothing in this store's cache is valid.
        case sharedAnew
    }

    /// The error for a database that was restored from a backup while the store was using it. The row of the table
    /// `turn`, or the row of a trackable, is missing then.
    static let replaced = TrackingError(
        .storeFailed,
        """
        cannot store records now: the history in PostgreSQL was restored from a backup, or is being restored. \
        The recorder reads its state again and retries
        """)

    /// Gives up the turn, this store's right to rely on its cache of the tables. The next transaction then does not
    /// rely on the cache.
    mutating func giveUp() { self.isHeld = false }

    /// Begins a transaction of a store that has the turn, the right to rely on its cache. Sends the query that checks
    /// if the store still has the turn, and does not wait for the result. ``answer(_:)`` returns the result.
    func ask(_ connection: PostgresConnection) throws(TrackingError) {
        try connection.send(
            "BEGIN; SELECT FROM turn WHERE holder = \(self.name) AND xmin = '\(self.writer)' FOR UPDATE")
    }

    /// Waits for the result of the query that ``ask(_:)`` sent: if this store still has the turn, the right to rely on
    /// its cache. If the turn is lost, the transaction goes on without it.
    mutating func answer(_ connection: PostgresConnection) throws(TrackingError) -> Found {
        guard try connection.sentCount() != 1 else { return .alone }
        (self.isHeld, self.left) = (false, Self.commitsAmongOthers)
        _ = try self.share(connection)
        return .sharedAnew
    }

    /// Begins a transaction that writes. Takes the turn, the right to rely on the cache of the tables, if this store
    /// may take it. Returns if this store has the turn, and if its cache is valid.
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
        // This statement waits for a program that writes alone.
        let takenAway = try connection.run("UPDATE turn SET holder = -holder WHERE holder > 0 RETURNING holder")
        guard takenAway.count == 0 else { return self.see(takenAway.integer(0, 0)) }
        let holders = try connection.run("SELECT holder FROM turn FOR SHARE")
        guard holders.count == 1 else { throw Self.replaced }
        let holder = holders.integer(0, 0)
        guard holder > 0 else { return self.see(holder) }
        // Another program took the turn meanwhile. Two programs that both lock the row and want to change it would wait
        // for each other.
        try connection.runAll("ROLLBACK; BEGIN")
        return try self.share(connection)
    }

    private mutating func see(_ holder: Int64) -> Found {
        defer { self.seen = holder }
        return holder == self.seen ? .shared : .sharedAnew
    }
}
