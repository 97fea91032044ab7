import Logging
import TrackingCore
import TrackingRuntime
import TrackingStore

/// The lease by which one of the gateways that share a PostgreSQL database evaluates the rules and delivers the outbox.
///
/// The lease is a row that ends by the clock of the database server. A gateway stops ``margin`` before its lease ends by
/// its own clock, counted from its request, so that it has stopped before another gateway can get the lease.
struct GatewayLease: Sendable {
    /// The time for which a request gives the lease to a gateway: 15 s.
    static let duration = Duration.seconds(15)
    /// The time between two requests of the gateway that has the lease.
    private static let renewal = Duration.seconds(5)
    /// The longest time between two requests of another gateway.
    private static let pollInterval = Duration.seconds(2)
    /// The time from a failed request to the next one.
    private static let retryWait = Duration.seconds(1)
    /// The time for which a gateway that could not evaluate the rules leaves the lease to others. It is longer than
    /// ``pollInterval``.
    private static let pauseAfterFailure = Duration.seconds(5)
    /// The time by which a gateway stops before its lease ends.
    private static let margin = Duration.seconds(2)

    private let database: GatewayDatabase
    /// The random id of this run of the gateway.
    private let owner: String
    private let clock = DeviceClock()

    /// Creates the lease of a gateway, without a request; `nil` for a database that gateways do not share.
    init?(_ database: GatewayDatabase) {
        guard database.isShared else { return nil }
        self.database = database
        var generator = SystemRandomNumberGenerator()
        self.owner = SessionID.random(using: &generator).rawValue
    }

    /// Requests the lease: gets it if no other gateway has it, and renews it if this gateway has it.
    ///
    /// - Returns: The time until which the gateway may act by its own clock; `nil` if another gateway has the lease.
    /// - Throws: `storeFailed`, `storeUnusable`.
    func claim() async throws(TrackingError) -> MonotonicTime? {
        let (owner, start) = (self.owner, self.clock.moment.now)
        // Each write wakes all gateways, so a gateway that waits only reads.
        let isOthers = try await self.database.read { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT 1 FROM lease
                    WHERE name = 'rules' AND owner <> ? AND until > extract(epoch FROM clock_timestamp())
                    """, arguments: [owner]) != nil
        }
        guard !isOthers else { return nil }
        let isHeld = try await self.database.write { db in
            try Int64.fetchOne(
                db,
                sql: """
                    INSERT INTO lease(name, owner, until)
                    VALUES('rules', ?1, extract(epoch FROM clock_timestamp())::float8 + ?2)
                    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
                    WHERE lease.owner = excluded.owner OR lease.until <= extract(epoch FROM clock_timestamp())
                    RETURNING 1
                    """, arguments: [owner, Self.duration.inSeconds]) != nil
        }
        return isHeld ? start.advanced(by: Self.duration - Self.margin) : nil
    }

    /// Runs `body` each time this gateway gets the lease, until the task is cancelled. When the lease is lost, `body` is
    /// cancelled. After an error of `body`, the lease is released for some seconds, so that another gateway can get it.
    ///
    /// - Throws: `storeFailed`, `storeUnusable` when the database cannot be used at the beginning.
    func whileHeld(
        _ logger: Logger, _ body: @escaping @Sendable () async throws(TrackingError) -> Void
    ) async throws(TrackingError) {
        // An address that cannot be used ends the gateway at its start.
        _ = try await self.claim()
        while let until = await self.acquire() {
            logger.info("This gateway evaluates the rules and delivers their messages")
            let failure = await withTaskGroup(of: TrackingError?.self) { group in
                group.addTask {
                    await self.keep(until: until)
                    return nil
                }
                group.addTask {
                    do throws(TrackingError) { try await body() } catch { return error }
                    return nil
                }
                defer { group.cancelAll() }
                return await group.next() ?? nil
            }
            guard !Task.isCancelled else { return }
            if let failure {
                logger.warning(
                    "Rules could not be evaluated: the gateway gives its lease up and tries again, and another gateway may evaluate them meanwhile",
                    metadata: ["reason": "\(failure.message)"])
                await self.release()
                await self.clock.sleep(until: self.clock.moment.now.advanced(by: Self.pauseAfterFailure))
            } else {
                logger.warning(
                    "This gateway no longer evaluates the rules: another gateway has the lease, or the lease could not be renewed in time"
                )
            }
        }
    }

    /// Requests the lease until the gateway gets it.
    ///
    /// - Returns: The time until which the gateway may act; `nil` if the task was cancelled.
    func acquire() async -> MonotonicTime? {
        while !Task.isCancelled {
            var wait = Self.pollInterval
            do throws(TrackingError) {
                if let until = try await self.claim(), self.clock.moment.now < until { return until }
            } catch {
                wait = Self.retryWait
            }
            await self.clock.sleep(until: self.clock.moment.now.advanced(by: wait))
        }
        return nil
    }

    /// Renews the lease. Returns when another gateway has it, when it could not be renewed in time, or when the task is
    /// cancelled.
    ///
    /// - Parameter until: The time until which the gateway may act.
    func keep(until: MonotonicTime) async {
        var (until, wait) = (until, Self.renewal)
        while !Task.isCancelled {
            await self.clock.sleep(until: min(until, self.clock.moment.now.advanced(by: wait)))
            guard self.clock.moment.now < until else { return }
            guard let answer = await self.renewed(before: until) else {
                wait = Self.retryWait
                continue
            }
            guard let next = answer else { return }
            (until, wait) = (next, Self.renewal)
        }
    }

    /// Renews the lease, unless the lease ends first.
    ///
    /// - Returns: The time until which the gateway may act, or `nil` within the optional if another gateway has the
    ///   lease; `nil` if the request failed or the lease has ended.
    private func renewed(before until: MonotonicTime) async -> MonotonicTime?? {
        await withTaskGroup(of: MonotonicTime??.self) { group in
            group.addTask { try? await self.claim() as MonotonicTime? }
            group.addTask {
                await self.clock.sleep(until: until)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    /// Releases the lease, if this gateway has it, so that another one gets it at once.
    func release() async {
        let owner = self.owner
        try? await self.database.write { db in
            try db.execute(sql: "DELETE FROM lease WHERE name = 'rules' AND owner = ?", arguments: [owner])
        }
    }

    /// Checks, within a transaction that writes, that this gateway still has the lease.
    ///
    /// - Throws: `takenOver` when another gateway has it, or it was released.
    func check(_ db: GatewayTransaction) throws {
        let owner = try String.fetchOne(db, sql: "SELECT owner FROM lease WHERE name = 'rules'")
        guard owner != self.owner else { return }
        throw TrackingError(
            .takenOver,
            "cannot save the state of the rules: another gateway evaluates the rules now. That gateway reads the records that this one received"
        )
    }
}
