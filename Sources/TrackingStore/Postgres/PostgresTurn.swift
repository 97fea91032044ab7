import TrackingCore

/// The right to write without a query. A store that writes alone has the turn: as long as the row of the table
/// `turn` has its number, no other program has written, and the contents that the store knows are valid. If several
/// programs write, none has the turn: each locks the rows of a batch's trackables and compares their column
/// `changes`.
struct PostgresTurn {
    /// The number of commits that a store makes as one of several writers after it lost the turn. Then it tries to get
    /// the turn again.
    static let commitsAmongOthers = 1000

    private var name: Int64 = 0
    /// The id of the transaction that wrote this store's number into the row. The id differs after the row was restored
    /// from a backup.
    private var writer = "0"
    /// The number in the row when this store last wrote without the turn.
    private var seen: Int64?
    /// `true` if this store had the turn when it last looked.
    private(set) var isHeld = false
    private var left = 0

    /// The result of reading the row of the table `turn` in a transaction.
    enum Found {
        /// No other program has written since this store's last transaction: the known contents are valid.
        case alone
        /// No other program writes until this transaction ends. Others have written before, so the known contents are
        /// not valid.
        case taken
        /// Other programs write as well. The known contents of a trackable are valid while the column `changes` of its
        /// row is unchanged.
        case shared
        /// Other programs write as well, and none of the known contents are valid.
        case sharedAnew
    }

    /// The error when the row of the table `turn` is missing or older than expected. Rows of this table are never
    /// deleted, so the database was restored from a backup.
    static let replaced = TrackingError(
        .storeFailed,
        "cannot store now: the history in PostgreSQL was put back from a copy, or is being put back. It is read again")

    /// Stops relying on the turn.
    mutating func giveUp() { self.isHeld = false }

    /// Begins a transaction of a store that has the turn, and sends the query whether it still has it. ``answer(_:)``
    /// returns the result.
    func ask(_ connection: PostgresConnection) throws(TrackingError) {
        try connection.send(
            "BEGIN; SELECT FROM turn WHERE holder = \(self.name) AND xmin = '\(self.writer)' FOR UPDATE")
    }

    /// Returns the result of the query that ``ask(_:)`` sent.
    mutating func answer(_ connection: PostgresConnection) throws(TrackingError) -> Found {
        guard try connection.sentCount() != 1 else { return .alone }
        (self.isHeld, self.left) = (false, Self.commitsAmongOthers)
        _ = try self.share(connection)
        return .sharedAnew
    }

    /// Begins a transaction that writes, and returns the state of the turn in it.
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
