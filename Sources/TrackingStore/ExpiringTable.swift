/// The tables of a history whose rows are removed when they are older than the configured time. The SQL is valid for
/// SQLite and PostgreSQL.
enum ExpiringTable: String, CaseIterable {
    case point, event, trip, state

    /// The number of expired rows of one trackable, over all tables, that one transaction removes: 5,000. Further rows
    /// with the same time as the last one are removed in the same transaction. The recorder can store records between
    /// two such transactions.
    static let together = 5000

    /// `true` for the tables whose rows count as records: points, trips and events; `false` for the table of states.
    var hasRecords: Bool { self != .state }

    /// The SQL expression for the time that decides if a row is expired: the time of a point or an event, the time at
    /// which a state was received, or the end of a trip. A trip without an end counts as ended at its start plus its
    /// duration.
    private var time: String {
        switch self {
        case .point, .event: "time"
        case .trip: "coalesce(\"end\", start + duration)"
        case .state: "received"
        }
    }

    private func rows(of trackable: String, through time: String) -> String {
        "FROM \(self.rawValue) WHERE trackable = \(trackable) AND \(self.time) <= \(time)"
    }

    /// Returns an SQL condition that is true if at least one of the tables of points, trips, events and states has a
    /// row of the trackable with a time up to `time`.
    static func hasRows(of trackable: String, through time: String) -> String {
        let each = self.allCases.map { "EXISTS (SELECT 1 \($0.rows(of: trackable, through: time)))" }
        return "(\(each.joined(separator: " OR ")))"
    }

    /// Returns the SQL statement that deletes the oldest rows of a trackable, of those with times up to `time`:
    /// `offset` + 1 rows, and further rows with the same time as the last of these. If there are fewer rows, it deletes
    /// all of them.
    func deletion(of trackable: String, through time: String, offset: String) -> String {
        let last = "SELECT \(self.time) \(self.rows(of: trackable, through: time)) ORDER BY 1 LIMIT 1 OFFSET \(offset)"
        return "DELETE \(self.rows(of: trackable, through: "coalesce((\(last)), \(time))"))"
    }
}

/// The result of one transaction that removes expired rows of one trackable from the history, and the room that the
/// transaction still has.
struct RemovedPart {
    /// The number of points, trips and events that the transaction removed.
    var records = 0
    /// The number of expired rows that the transaction may still remove before it must end. It can become negative.
    private(set) var room = ExpiringTable.together

    /// `true` if the transaction has reached its limit, so that more rows may be left to remove.
    var isFull: Bool { self.room <= 0 }

    mutating func removed(_ rows: Int, of table: ExpiringTable) {
        if table.hasRecords { self.records += rows }
        self.room -= rows
    }
}
