import TrackingCore

/// The weekly partitions of the table `point`.
extension PostgresLedger {
    /// Makes the weekly partitions that the points of a batch need, each in a transaction of its own. If a partition
    /// cannot be made now, the points of its week are stored in the partition `point_other`.
    mutating func makePartitions(for batch: RecordingBatch, _ connection: PostgresConnection) throws(TrackingError) {
        for week in self.partitions.missing(for: batch, now: .now) {
            do throws(TrackingError) {
                try Self.make(week, connection)
                self.partitions.made(week)
            } catch {
                guard connection.isAlive else { throw error }
                try connection.runAll("ROLLBACK")
                return self.partitions.notMade(now: .now)
            }
        }
    }

    /// Makes the partition of a week, and moves the week's points from `point_other` into it. All readers and writers
    /// wait meanwhile. Before it moves anything, it waits at most one second for other programs to release
    /// `point_other`.
    private static func make(_ week: PointPartitions.Week, _ connection: PostgresConnection) throws(TrackingError) {
        let (table, from, to) = (week.table, week.start.seconds, week.next.start.seconds)
        // The triggers of the queues for forwarding ignore the points that only move to another partition.
        try connection.runAll(
            "BEGIN; SET LOCAL lock_timeout = '1s'; SET LOCAL godwit.is_moving = 'on'; LOCK TABLE schema_version IN EXCLUSIVE MODE"
        )
        if try connection.run("SELECT 1::bigint WHERE to_regclass('\(table)') IS NULL").count > 0 {
            try connection.runAll(
                """
                SAVEPOINT looking;
                LOCK TABLE point_other IN ACCESS EXCLUSIVE MODE;
                ROLLBACK TO SAVEPOINT looking;
                CREATE TABLE \(table) (LIKE point INCLUDING ALL);
                WITH moved AS (DELETE FROM point_other WHERE time >= \(from) AND time < \(to) RETURNING *)
                    INSERT INTO \(table) SELECT * FROM moved;
                ALTER TABLE point ATTACH PARTITION \(table) FOR VALUES FROM (\(from)) TO (\(to))
                """)
        }
        try connection.runAll("COMMIT")
    }

    /// Drops the partitions of weeks that ended before a time, if they are empty and autovacuum has already truncated
    /// their files. A partition that another program uses, or that belongs to another user, is not dropped.
    ///
    /// Other programs that store points may still regard a dropped partition as existing. Their late points of that
    /// week are stored in `point_other`, until a program that was started later creates the partition again.
    mutating func dropEmptyPartitions(
        before limit: UnixTime, _ connection: PostgresConnection
    ) throws(TrackingError) {
        let empty = try connection.run(
            """
            SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
            WHERE i.inhparent = 'point'::regclass AND pg_relation_size(c.oid) = 0 \
            AND substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \\(''([^'']*)''\\)')::float8 <= $1 ORDER BY c.relname
            """, [.double(limit.seconds)])
        for row in 0..<empty.count {
            do throws(TrackingError) {
                try Self.drop(empty.text(row, 0), connection)
                self.partitions.dropped(empty.text(row, 0))
            } catch {
                guard connection.isAlive else { throw error }
                return try connection.runAll("ROLLBACK")
            }
        }
    }

    /// Drops a partition if it is empty. Waits at most one second for other programs to release the table `point`.
    private static func drop(_ table: String, _ connection: PostgresConnection) throws(TrackingError) {
        try connection.runAll(
            """
            BEGIN; SET LOCAL lock_timeout = '1s'; LOCK TABLE schema_version IN EXCLUSIVE MODE;
            LOCK TABLE point IN ACCESS EXCLUSIVE MODE
            """)
        if try connection.run("SELECT 1::bigint FROM \(table) LIMIT 1").count == 0 {
            try connection.runAll("DROP TABLE \(table)")
        }
        try connection.runAll("COMMIT")
    }
}
