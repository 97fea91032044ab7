public import TrackingCore

/// The lease by which one of several recorders of the same name is active. It is a row of the table `recorder_lease` in
/// PostgreSQL, and ends by the clock of the database server.
///
/// The lease has a connection to the server of its own, so that no slow read or write of the history delays it.
public final class RecorderLease: Sendable {
    /// The answer of the database to a request for the lease.
    public enum Answer: Hashable, Sendable {
        /// The recorder has the lease, for ``RecorderLease/duration`` from now on.
        case held
        /// Another recorder has the lease. The value is the time until the lease ends, unless that recorder renews it;
        /// negative if it has just ended.
        case heldByAnother(remaining: Duration)
    }

    /// The time for which a request gives the lease to a recorder: 15 s.
    public static let duration = Duration.seconds(15)
    /// The time that a request waits for an answer of the server. It suffices to give up a server that is suspended and
    /// to connect to another one.
    private static let patience = Duration.seconds(8)

    /// The name of the recorders that share the lease.
    public let name: ClientID
    /// The random id of this recorder among those of the same name.
    public let owner: SessionID
    private let thread: PostgresThread

    /// Creates the lease of a recorder, without a request.
    ///
    /// - Parameters:
    ///   - address: The address of the history in PostgreSQL, which must exist already.
    ///   - name: The name of the recorder.
    ///   - owner: The random id of this run of the recorder's program.
    public init(address: String, name: ClientID, owner: SessionID) {
        self.name = name
        self.owner = owner
        self.thread = PostgresThread(
            address, name: "godwit.history.lease", patience: Self.patience, isForStoring: true, mayMake: false)
    }

    /// Requests the lease: gets it if no other recorder has it, and renews it if this recorder has it.
    ///
    /// When the lease comes from another recorder, the server ends the connections on which that recorder stores. A
    /// transaction that the other recorder left open then blocks no one.
    ///
    /// - Throws: `storeFailed` when the server cannot be reached or gives no answer within 8 s.
    public func claim() async throws(TrackingError) -> Answer {
        try await self.thread.perform { connection throws(TrackingError) in
            try Self.makeTable(connection)
            let row = try connection.run(
                Self.claiming,
                [.text(self.name.rawValue), .text(self.owner.rawValue), .double(Self.duration.inSeconds)])
            guard row.integer(0, 0) == 0 else { return .held }
            return .heldByAnother(remaining: .seconds(row.optionalNumber(0, 1) ?? 0))
        }
    }

    /// Releases the lease, if this recorder has it. If the server cannot be reached, the lease ends by itself.
    public func release() async {
        try? await self.thread.perform { connection throws(TrackingError) in
            _ = try connection.run(
                "DELETE FROM recorder_lease WHERE name = $1 AND owner = $2",
                [.text(self.name.rawValue), .text(self.owner.rawValue)])
        }
    }

    /// Closes the connection to the server. A later request connects again.
    public func close() { self.thread.close() }

    /// Checks that this recorder still has the lease, on the connection that is about to write. Also marks that
    /// connection with the recorder's id, by which the next owner of the lease finds it.
    ///
    /// - Throws: `storeFailed` when another recorder has taken the lease, or the lease was released.
    func check(_ connection: PostgresConnection) throws(TrackingError) {
        let rows = try connection.run(
            """
            SELECT set_config('application_name', '\(Self.mark)' || owner, false) FROM recorder_lease \
            WHERE name = $1 AND owner = $2
            """, [.text(self.name.rawValue), .text(self.owner.rawValue)])
        guard rows.count == 0 else { return }
        throw TrackingError(
            .storeFailed,
            "cannot write to the history: this recorder no longer has the lease of the name '\(self.name)'. Nothing is lost: the broker delivers the messages to the recorder that has the lease"
        )
    }

    private static func makeTable(_ connection: PostgresConnection) throws(TrackingError) {
        let table = "\(PostgresHistorySchema.name).recorder_lease"
        guard try connection.run("SELECT to_regclass('\(table)')::text").isNull(0, 0) else { return }
        try connection.runAll(
            """
            BEGIN; LOCK TABLE schema_version IN EXCLUSIVE MODE;
            CREATE TABLE IF NOT EXISTS \(table) (name text PRIMARY KEY, owner text NOT NULL, until timestamptz NOT NULL);
            COMMIT
            """)
    }

    /// The first part of the name (`application_name`) of a connection on which a recorder with a lease stores. The id
    /// of the recorder follows.
    private static let mark = "godwit recorder "

    /// The statement that requests the lease. It returns the number of leases that it gave (0 or 1), and the time until
    /// the end of the lease as it was before, in seconds.
    private static let claiming = """
        WITH claimed AS (
            INSERT INTO recorder_lease AS l (name, owner, until)
            VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
            ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
            WHERE l.owner = excluded.owner OR l.until <= clock_timestamp() RETURNING name),
        ended AS (
            SELECT count(pg_terminate_backend(a.pid)) FROM recorder_lease f JOIN pg_stat_activity a
            ON a.application_name = '\(mark)' || f.owner WHERE f.name = $1 AND f.owner <> $2
            AND a.datname = current_database() AND a.usename = current_user AND EXISTS (SELECT FROM claimed))
        SELECT (SELECT count(*) FROM claimed), (SELECT extract(epoch FROM f.until - clock_timestamp())::float8
            FROM recorder_lease f WHERE f.name = $1), (SELECT * FROM ended)
        """
}
