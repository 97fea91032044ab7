import FoundationEssentials
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingRules
import TrackingSpool

/// The files of a gateway and of a bridge in the folder of `--state`, which may contain data of a trackable that is to
/// be erased.
struct GatewayFiles {
    let state: StateOptions

    /// The longest wait until a running gateway has erased a trackable from its files, after it was asked to: 30 s.
    private static let patience = Duration.seconds(30)

    /// Erases a trackable from the files of a gateway and of a bridge. If the program does not run, the files are
    /// changed directly. A running gateway is asked to erase the trackable. The files of a running bridge remain, which
    /// is reported.
    ///
    /// - Parameter before: The time before which records are erased; `nil` erases all records.
    /// - Returns: One sentence for each file that may still contain data of the trackable.
    func erase(_ id: TrackableID, before: UnixTime?, now: UnixTime) async -> [String] {
        var remains: [String] = []
        for (name, program) in [("gateway", "godwit serve"), ("bridge", "godwit bridge")] {
            do throws(TrackingError) {
                let log = try self.state.path(for: "\(name)-spool.sqlite")
                let database = try self.database(of: name)
                guard database != nil || FileManager.default.fileExists(atPath: log) else { continue }
                remains += self.damagedLogs(beside: log)
                if let lock = try? self.state.lock(name, for: program) {
                    defer { withExtendedLifetime(lock) {} }
                    try await Self.erase(id, before: before, log: log, now: now)
                    if let database { try await Self.erase(id, before: before, database: database) }
                } else if let database {
                    try await self.ask(for: id, before: before, database: database)
                } else {
                    remains.append("\(log): '\(program)' uses this log. End that program, and erase again")
                }
            } catch {
                remains.append(error.message)
            }
        }
        return remains
    }

    /// Returns the place of the database of a gateway or a bridge; `nil` if it has none.
    private func database(of name: String) throws(TrackingError) -> String? {
        let path = name == "gateway" ? try self.state.database() : try self.state.path(for: "\(name).sqlite")
        return GatewayDatabase.isURL(path) || FileManager.default.fileExists(atPath: path) ? path : nil
    }

    private static func erase(
        _ id: TrackableID, before: UnixTime?, log path: String, now: UnixTime
    ) async throws(TrackingError) {
        guard FileManager.default.fileExists(atPath: path) else { return }
        let log = SQLiteSpool(path: path, overwritesRemoved: true)
        _ = try await log.open(now: now)
        do throws(TrackingError) { try await log.erase(id, before: before) } catch {
            try? await log.close()
            throw error
        }
        try await log.close()
    }

    private static func erase(
        _ id: TrackableID, before: UnixTime?, database path: String
    ) async throws(TrackingError) {
        let database = try GatewayDatabase(at: path)
        do throws(TrackingError) { try await Erasures(database).erase(id, before: before) } catch {
            try? database.close()
            throw error
        }
        try database.close()
    }

    /// Asks the running gateway, through its database, to erase a trackable, and waits until the gateway has done so.
    ///
    /// - Throws: `storeBusy` if the gateway does not do so within ``patience``.
    private func ask(for id: TrackableID, before: UnixTime?, database path: String) async throws(TrackingError) {
        let database = try GatewayDatabase(at: path)
        defer { try? database.close() }
        let erasures = Erasures(database)
        let changes = database.changes()
        let folder = try self.state.folderBesideServer()
        let gateway: String? = if let folder { try Erasures.gateway(in: folder) } else { nil }
        let number = try await erasures.request(id, before: before, to: gateway)
        guard try await Self.isPerformed(number, to: gateway, erasures, changes) else {
            throw TrackingError(
                .storeBusy,
                "cannot confirm the erasure from \(gateway == nil ? path : "PostgreSQL") and the gateway's log: the running gateway did not finish it within \(Self.patience). "
                    + "The gateway erases it as soon as possible. See the gateway's log messages, and erase again")
        }
    }

    /// Waits until the running gateway has performed a requested erasure. Returns `false` if it has not done so within
    /// ``patience``.
    private static func isPerformed(
        _ number: Int64, to gateway: String?, _ erasures: Erasures, _ changes: AsyncStream<Void>
    ) async throws(TrackingError) -> Bool {
        let result = await withTaskGroup(of: Result<Bool, TrackingError>.self) { group in
            group.addTask {
                do throws(TrackingError) {
                    for await _ in changes {
                        if try await !erasures.requests(to: gateway).contains(where: { $0.number == number }) {
                            return .success(true)
                        }
                    }
                    return .success(false)
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                try? await Task.sleep(for: Self.patience)
                return .success(false)
            }
            defer { group.cancelAll() }
            return await group.next() ?? .success(false)
        }
        return try result.get()
    }

    /// Returns one sentence with advice for each file that is a copy of a damaged log beside the log at `path`. Such a
    /// copy may still contain data of the trackable.
    private func damagedLogs(beside path: String) -> [String] {
        let (folder, name) =
            path.lastIndex(of: "/").map { (String(path[..<$0]), String(path[$0...].dropFirst())) }
            ?? (".", path)
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.filter { $0.hasPrefix(name + ".damaged-") }.sorted().map {
            "\(folder)/\($0): a copy of a damaged log. Delete it when it is no longer needed"
        }
    }
}
