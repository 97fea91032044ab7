import TrackingCore

/// Finds who stands still while it copies points into a history, and ends it: whoever stores waits for what it has
/// locked. Elsewhere in a transaction the server itself gives such a program up
/// (`idle_in_transaction_session_timeout`), but not while it waits for rows.
struct PostgresStandstill {
    /// The progress of a program that copies data.
    private struct Progress {
        let bytes: Int64
        /// The time at which this progress was first observed.
        let since: ContinuousClock.Instant
    }

    /// So long it may bring nothing: as long as the server lets it do nothing elsewhere.
    var limit = Duration.seconds(120)
    /// The server's processes that were copying when it was looked last.
    private var seen: [Int64: Progress] = [:]

    /// Looks who copies, and ends those of the same user that have brought nothing for too long.
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
