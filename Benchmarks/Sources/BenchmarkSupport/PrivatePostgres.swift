import Glibc

/// A private PostgreSQL server with PostGIS for the benchmark, on a free port of the loopback address, with its default
/// durability.
public final class PrivatePostgres {
    private let port = Int.random(in: 32_761..<32_767)
    private let folder = "/tmp/godwit-bench-postgres-\(getpid())"
    private let server: ChildProcess
    private static let programs = "/usr/lib/postgresql/15/bin"

    /// Starts the server, and returns once it answers.
    public init() throws {
        mkdir(self.folder, 0o700)
        if getuid() == 0, let user = getpwnam("postgres") {
            chown(self.folder, user.pointee.pw_uid, user.pointee.pw_gid)
        }
        // The server refuses to run as root.
        let other = getuid() == 0 ? ["--reuid=postgres", "--regid=postgres", "--init-groups"] : ["--no-new-privs"]
        let data = "\(self.folder)/data"
        let initdb = ["\(Self.programs)/initdb", "-D", data, "-U", "godwit", "-A", "trust", "-E", "UTF8", "--locale=C"]
        guard try ChildProcess("setpriv", other + initdb, isQuiet: true).waitForEnd() == 0 else {
            throw BenchmarkError(
                "cannot create a PostgreSQL database cluster. Install PostgreSQL with: apt-get install postgresql postgresql-15-postgis-3"
            )
        }
        let settings = ["listen_addresses=127.0.0.1", "unix_socket_directories="].flatMap { ["-c", $0] }
        self.server = try ChildProcess(
            "setpriv",
            other + ["--pdeathsig", "INT", "\(Self.programs)/postgres", "-D", data, "-p", "\(self.port)"] + settings,
            isQuiet: true)
        for _ in 0..<1000 {
            if (try? self.psql("template1", ["-c", "CREATE EXTENSION IF NOT EXISTS postgis"])) != nil { return }
            usleep(10_000)  // no event reports that the server listens, so this asks at most 1000 times
        }
        throw BenchmarkError("PostgreSQL did not start")
    }

    /// Ends the server and removes its folder.
    public func end() throws {
        self.server.end(SIGINT)
        try ChildProcess("rm", ["-rf", self.folder]).waitForEnd()
    }

    /// Creates an empty database and returns its address.
    public func database() throws -> String {
        let name = "d\(UInt64.random(in: 0 ... .max))"
        try self.psql("template1", ["-c", "CREATE DATABASE \(name)"])
        return self.address(name)
    }

    /// Runs `psql` with a database, given by its name or its address, and arguments.
    public func psql(_ address: String, _ arguments: [String]) throws {
        let address = address.contains("/") ? address : self.address(address)
        let psql = try ChildProcess(
            "psql", ["-d", address, "-q", "-v", "ON_ERROR_STOP=1"] + arguments, isQuiet: true)
        guard psql.waitForEnd() == 0 else { throw BenchmarkError("psql failed to run SQL in the database") }
    }

    private func address(_ database: String) -> String { "postgres://godwit@127.0.0.1:\(self.port)/\(database)" }
}
