import Foundation
import Glibc
import Synchronization

/// A private PostgreSQL server with PostGIS for tests, with its own folder and a free port on 127.0.0.1. It is removed
/// when the last reference to this object is released.
///
/// The tests of one run share a server, and each test has its own database.
public final class PostgresServer: Sendable {
    /// The port of the server on 127.0.0.1.
    public let port: Int

    private let directory: URL
    private let process = Mutex<ChildProcess?>(nil)

    private static let sharing = Sharing()

    /// Returns the shared server of this test run, and starts it if no test uses it at present.
    ///
    /// - Throws: `TestSupportError` that names the missing program or contains the server's output.
    public static func shared() async throws -> PostgresServer { try await self.sharing.server() }

    /// Starts a server for one test alone.
    ///
    /// - Throws: The errors of ``shared()``.
    public static func start() async throws -> PostgresServer {
        let server = try PostgresServer(port: LoopbackPort.free())
        try await server.prepare()
        return server
    }

    /// Runs SQL statements in the database at an address.
    public func execute(_ sql: String, in address: String) async throws {
        try await ChildProcess.run(try Self.program("psql"), [address, "-qc", sql])
    }

    /// Returns the single value of a query as text, from the database at an address.
    public func value(_ sql: String, in address: String) async throws -> String {
        let output = FileManager.default.temporaryDirectory.appending(path: "godwit-value-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: output) }
        try await ChildProcess.run(try Self.program("psql"), [address, "-qAto", output.path(), "-c", sql])
        return try String(contentsOf: output, encoding: .utf8).trimmingCharacters(in: .newlines)
    }

    /// Creates an empty database with PostGIS on the server.
    ///
    /// - Returns: The address (URL) of the database.
    public func makeDatabase() async throws -> String {
        let name = "d" + UUID().uuidString.lowercased().replacing("-", with: "")
        try await self.run("createdb", [name])
        return "postgres://godwit@127.0.0.1:\(self.port)/\(name)"
    }

    /// Starts a replica of this server, which follows it by streaming replication. From then on, a commit of this server
    /// returns once the replica has it.
    public func makeReplica() async throws -> PostgresServer {
        let replica = try PostgresServer(port: LoopbackPort.free())
        let copy = try Self.asServer(
            try Self.program("pg_basebackup"),
            [
                "-h", "127.0.0.1", "-p", "\(self.port)", "-U", "godwit", "-c", "fast", "-R", "-D",
                replica.directory.appending(path: "data").path(),
            ])
        try await ChildProcess.run(copy.program, copy.arguments)
        try await replica.launch()
        try await self.run(
            "psql",
            [
                "-d", "postgres", "-qc", "ALTER SYSTEM SET synchronous_standby_names = '*'", "-c",
                "SELECT pg_reload_conf()", "-o", "/dev/null",
            ])
        return replica
    }

    /// Makes a replica accept writes.
    public func promote() async throws {
        try await self.run("psql", ["-d", "postgres", "-qc", "SELECT pg_promote()", "-o", "/dev/null"])
    }

    /// Kills all processes of the server (SIGKILL), as a crash would, and returns after its end.
    public func kill() async throws { try await self.end(SIGKILL) }

    /// Ends all processes of the server, and returns after its end.
    ///
    /// - Parameter signal: SIGKILL, or SIGQUIT for PostgreSQL's immediate shutdown.
    public func end(_ signal: Int32) async throws {
        guard let process = self.process.withLock({ $0 }) else { return }
        let others = Self.children(of: process.id)
        process.signal(signal)
        try await process.waitForEnd()
        // After SIGKILL the other processes notice the loss and end, but busy ones only after their work.
        for id in others { Glibc.kill(id, signal) }
        let deadline = ContinuousClock.now + .seconds(60)
        for id in others {
            while Glibc.kill(id, 0) == 0 {
                guard ContinuousClock.now < deadline else {
                    throw TestSupportError("the process \(id) of PostgreSQL did not end within 60 s")
                }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    /// Stops all processes of the server (SIGSTOP), so that connections remain open but get no answers. With `false`,
    /// continues them.
    public func freeze(_ isFrozen: Bool = true) {
        guard let process = self.process.withLock({ $0 }) else { return }
        for id in [process.id] + Self.children(of: process.id) { Glibc.kill(id, isFrozen ? SIGSTOP : SIGCONT) }
    }

    /// Returns the running child processes of a process.
    private static func children(of parent: Int32) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { id in
            // The format is "number (name) state parent …", and a name may contain any character.
            let stat = (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)) ?? ""
            let words = stat.split(separator: ")").last?.split(separator: " ") ?? []
            return words.count > 1 && Int32(words[1]) == parent
        }
    }

    /// Kills the server and starts it again on the same port.
    public func restart() async throws {
        try await self.kill()
        try await self.launch()
    }

    private init(port: Int) throws {
        self.port = port
        self.directory = FileManager.default.temporaryDirectory.appending(path: "godwit-postgres-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: false)
        if getuid() == 0, let user = getpwnam("postgres") {
            chown(self.directory.path(), user.pointee.pw_uid, user.pointee.pw_gid)
        }
    }

    deinit {
        // SIGQUIT ends all processes at once.
        if let process = self.process.withLock({ $0 }), process.isRunning {
            process.signal(SIGQUIT)
            for _ in 0..<500 where process.isRunning { usleep(10_000) }
        }
        try? FileManager.default.removeItem(at: self.directory)
    }

    private func prepare() async throws {
        let data = self.directory.appending(path: "data").path()
        let initdb = try Self.asServer(
            try Self.program("initdb"),
            ["-D", data, "-U", "godwit", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"])
        try await ChildProcess.run(initdb.program, initdb.arguments)
        try await self.launch()
        // New databases are copies of this one, and so contain PostGIS.
        try await self.run("psql", ["-d", "template1", "-qc", "CREATE EXTENSION postgis"])
    }

    private func launch() async throws {
        let server = try Self.asServer(
            try Self.program("postgres"),
            [
                "-D", self.directory.appending(path: "data").path(), "-p", "\(self.port)", "-c",
                "listen_addresses=127.0.0.1",
                "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "shared_buffers=64MB", "-c",
                "max_connections=400",
            ])
        let log = self.directory.appending(path: "server.log")
        let process = try ChildProcess(server.program, server.arguments, output: log.path())
        self.process.withLock { $0 = process }
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            if (try? await self.run("psql", ["-d", "postgres", "-qc", "SELECT"])) != nil { return }
            guard process.isRunning, ContinuousClock.now < deadline else {
                throw TestSupportError(
                    "PostgreSQL did not start within 60 s: \((try? String(contentsOf: log, encoding: .utf8)) ?? "")")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private func run(_ name: String, _ arguments: [String]) async throws {
        try await ChildProcess.run(
            try Self.program(name), ["-h", "127.0.0.1", "-p", "\(self.port)", "-U", "godwit"] + arguments)
    }

    /// Returns the command that runs a program as the user `postgres` if the test runs as root, because the server
    /// refuses to run as root.
    private static func asServer(
        _ program: String, _ arguments: [String]
    ) throws -> (program: String, arguments: [String]) {
        guard getuid() == 0 else { return (program, arguments) }
        return (
            "/usr/bin/setpriv", ["--reuid=postgres", "--regid=postgres", "--init-groups", "--", program] + arguments
        )
    }

    private static func program(_ name: String) throws -> String {
        for folder in ["/usr/lib/postgresql/15/bin", "/usr/local/bin", "/usr/bin"] {
            let path = "\(folder)/\(name)"
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        throw TestSupportError(
            "cannot find the program \(name). Install it with: apt-get install postgresql postgresql-15-postgis-3")
    }
}

/// Starts one PostgreSQL server for simultaneous requests of tests, and keeps it only while tests use it.
private actor Sharing {
    private weak var current: PostgresServer?
    private var starting: Task<PostgresServer, any Error>?

    func server() async throws -> PostgresServer {
        if let current = self.current { return current }
        if let starting = self.starting { return try await starting.value }
        let starting = Task { try await PostgresServer.start() }
        self.starting = starting
        defer { self.starting = nil }
        let server = try await starting.value
        self.current = server
        return server
    }
}
