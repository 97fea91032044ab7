import TrackingCore

/// Finds programs that are stuck while they copy points into a history, and ends their connections. Other writers wait
/// for the rows that such a program has locked. The server itself ends programs that are idle in a transaction
/// (`idle_in_transaction_session_timeout`), but not those from which it expects data.
struct PostgresStandstill {
    /// The progress of a program that copies data.
    private struct Progress {
        let bytes: Int64
        /// The time at which this progress was first observed.
        let since: ContinuousClock.Instant
    }

    /// The time without new data after which a copying program is ended. The server's own limit for idle transactions
    /// is the same.
    var limit = Duration.seconds(120)
    /// The progress of the server's processes that were copying at the last check, by process id.
    private var seen: [Int64: Progress] = [:]

    /// Checks the processes that copy data, and ends those of the same user that have brought no data for ``limit``.
    mutating func look(_ connection: PostgresConnection, now: ContinuousClock.Instant) throws(TrackingError) {
        let rows = try connection.run(
            """
            SELECT a.pid::bigint, coalesce(p.bytes_processed, 0) FROM pg_stat_activity a \
            LEFT JOIN pg_stat_progress_copy p ON p.pid = a.pid WHERE a.datname = current_database() \
            AND a.usename = current_user AND a.state = 'active' AND a.wait_event = 'ClientRead' \
            AND a.query LIKE 'COPY point% FROM STDIN (FORMAT binary)%'
            """)
        var copying: [Int64: Progress] = [:]
        for row in 0..<rows.count {
            let (process, bytes) = (rows.integer(row, 0), rows.integer(row, 1))
            let known = self.seen[process].flatMap { $0.bytes == bytes ? $0 : nil }
            copying[process] = known ?? Progress(bytes: bytes, since: now)
            guard let known, known.since.duration(to: now) >= self.limit else { continue }
            try connection.run("SELECT pg_terminate_backend($1::int)", [.int(process)])
        }
        self.seen = copying
    }
}
