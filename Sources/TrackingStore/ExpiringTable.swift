/// The tables whose rows go when they are older than they are to be kept, in the SQL of both stores.
enum ExpiringTable: String, CaseIterable {
    case point, event, trip, state

    /// So many rows of a trackable go in one transaction, and those of the time of the last: storing goes on between
    /// them.
    static let together = 5000

    /// `true` if the rows count as records.
    var hasRecords: Bool { self != .state }

    /// The column with the time from which the age of a row counts.
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

    /// Returns the SQL condition that a table has a row of a trackable up to a time.
    static func hasRows(of trackable: String, through time: String) -> String {
        let each = self.allCases.map { "EXISTS (SELECT 1 \($0.rows(of: trackable, through: time)))" }
        return "(\(each.joined(separator: " OR ")))"
    }

    /// Deletes the oldest rows of a trackable up to a time: one more than `offset` of them, and those of the time of
    /// the last.
    func deletion(of trackable: String, through time: String, offset: String) -> String {
        let last = "SELECT \(self.time) \(self.rows(of: trackable, through: time)) ORDER BY 1 LIMIT 1 OFFSET \(offset)"
        return "DELETE \(self.rows(of: trackable, through: "coalesce((\(last)), \(time))"))"
    }
}

/// The result of one transaction that removes rows.
struct RemovedPart {
    /// The number of removed points, trips and events.
    var records = 0
    /// The number of rows that the transaction may still remove.
    private(set) var room = ExpiringTable.together

    /// `true` if more rows may be left to remove.
    var isFull: Bool { self.room <= 0 }

    mutating func removed(_ rows: Int, of table: ExpiringTable) {
        if table.hasRecords { self.records += rows }
        self.room -= rows
    }
}
