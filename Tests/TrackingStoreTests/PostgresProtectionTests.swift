import TestSupport
import Testing
import TrackingCore

@testable import TrackingStore

/// The protection of connections to PostgreSQL.
@Suite(.timeLimit(.minutes(5))) struct PostgresProtectionTests {
    private func mode(_ options: [String: String], _ environment: [String: String] = [:]) -> String? {
        PostgresProtection.mode(options: options, environment: environment)
    }

    @Test func aServerOnAnotherHostProvesItsName() {
        for host in ["db.example.org", "10.0.0.5", "2001:db8::1", "localhost.example.org", "127.example.org"] {
            #expect(self.mode(["host": host]) == "verify-full", "\(host)")
        }
        #expect(self.mode(["host": "127.0.0.1,db.example.org"]) == "verify-full")
        #expect(self.mode(["host": "localhost", "hostaddr": "10.0.0.5"]) == "verify-full")
        #expect(self.mode([:], ["PGHOST": "db.example.org"]) == "verify-full")
    }

    @Test func socketsAndTheLoopbackInterfaceAreLeftToLibpq() {
        for host in ["", "/run/postgresql", "@godwit", "localhost", "LOCALHOST", "127.0.0.1", "127.8.0.1", "::1"] {
            #expect(self.mode(["host": host]) == nil, "\(host)")
        }
        #expect(self.mode([:]) == nil && self.mode(["host": "db.example.org", "hostaddr": "127.0.0.1"]) == nil)
    }

    @Test func anExplicitModeWins() {
        #expect(self.mode(["host": "db.example.org", "sslmode": "require"]) == nil)
        #expect(self.mode(["host": "db.example.org"], ["PGSSLMODE": "prefer"]) == nil)
        #expect(self.mode(["host": "db.example.org"], ["PGSERVICE": "tracks"]) == nil)
    }

    @Test func anErrorNamesTheRemedy() {
        let missing =
            "root certificate file \"/home/me/.postgresql/root.crt\" does not exist\nEither provide the file …"
        #expect(PostgresProtection.lacksRootCertificate(missing))
        #expect(PostgresProtection.remedy(for: missing)?.contains("sslrootcert=FILE") == true)
        #expect(PostgresProtection.remedy(for: "SSL error: certificate verify failed")?.contains("sslrootcert") == true)
        #expect(PostgresProtection.remedy(for: "password authentication failed") == nil)
    }

    /// The server of the tests has no TLS.
    @Test func aServerWithoutTLSIsRefusedInAVerifyingMode() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        try await PostgresHistoryStore(address: address).close()
        let error = await #expect(throws: TrackingError.self) {
            _ = try await PostgresHistoryStore(address: address + "?sslmode=verify-full")
        }
        #expect(error?.message.contains("switch TLS on at the server") == true, "\(String(describing: error))")
    }
}
