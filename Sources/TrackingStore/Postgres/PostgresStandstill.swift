import TrackingCore

/// Finds programs that are stuck while they copy points into the history, and ends their connections to the database.
/// Other programs that write wait for the rows that a stuck program has locked.
///
/// The server itself ends programs that are idle in a transaction. It does not end programs from which it expects data.
struct PostgresStandstill {
    /// The progress of one program that copies points: the number of bytes that it had copied at the last check.
    private struct Progress {
        let bytes: Int64
        /// The time of the first check at which the program had copied this number of bytes.
        let since: ContinuousClock.Instant
    }

    /// The time in which a program that copies points into the history must send new data. After it, the program's
    /// connection to the server is ended. The server's own limit for idle transactions is the same time.
    var limit = Duration.seconds(120)
    /// The progress of the programs that were copying at the last check, by the process id on the server.
    private var seen: [Int64: Progress] = [:]

    /// Checks the programs of the same database user that are copying points. Ends the connections of those that have
    /// sent no data for ``limit``.
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
