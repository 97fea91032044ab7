import Foundation
import TestSupport
import Testing
import TrackingSQLite

@Suite struct SQLiteConnectionTests {
    private struct Refusal: Error {}

    private func insert(_ rows: String, isRefused: Bool = false, _ connection: SQLiteConnection) throws {
        try connection.transaction {
            try connection.execute("INSERT INTO thing VALUES \(rows)")
            if isRefused { throw Refusal() }
        }
    }

    @Test func aFailedTransactionChangesNothing() async throws {
        try await withTemporaryFolder { folder in
            let connection = try SQLiteConnection(path: folder.appending(path: "file").path())
            try connection.execute("CREATE TABLE thing (name TEXT) STRICT; INSERT INTO thing VALUES ('one')")
            #expect(throws: Refusal.self) { try self.insert("('two')", isRefused: true, connection) }
            #expect(connection.changesCount == 1)
            #expect(try connection.texts("SELECT name FROM thing") == ["one"])
            try self.insert("(NULL), ('three')", connection)
            #expect(try connection.texts("SELECT name FROM thing WHERE name > ''", atMost: 1) == ["one"])
            #expect(try connection.integer("SELECT count(*) FROM thing") == 3)
            #expect(try connection.integer("SELECT NULL") == nil)
            #expect(try connection.integer("SELECT 1 WHERE 0") == nil)
            #expect(try connection.integers("SELECT length(name) FROM thing ORDER BY 1") == [0, 3, 5])
            try connection.close()
        }
    }

    @Test func anErrorHasTheCodeAndTheMessageOfSQLite() async throws {
        try await withTemporaryFolder { folder in
            let missing = #expect(throws: SQLiteError.self) {
                _ = try SQLiteConnection(path: folder.appending(path: "missing/file").path())
            }
            #expect(missing?.code == .cannotOpen)
            let path = folder.appending(path: "file").path()
            let connection = try SQLiteConnection(path: path)
            let fault = #expect(throws: SQLiteError.self) { try connection.execute("NOT SQL") }
            #expect(fault?.description == #"near "NOT": syntax error (SQLite 1)"#)
            try connection.execute("CREATE TABLE thing (id INTEGER PRIMARY KEY); INSERT INTO thing VALUES (1)")
            let statement = try DirectStatement("INSERT INTO thing VALUES (?)", in: connection)
            statement.bind(Int64(1), 1)
            let taken = #expect(throws: SQLiteError.self) { try statement.run() }
            #expect(taken?.extendedCode.rawValue == 1555, "a constraint of the primary key")
            #expect(taken?.code.rawValue == 19)
            statement.bind(Int64(2), 1)
            try statement.run()
            let second = try SQLiteConnection(path: path)
            try connection.transaction {
                let busy = #expect(throws: SQLiteError.self) { try second.transaction {} }
                #expect(busy?.code == .busy)
            }
            try Data("no database, but more than one hundred bytes of text: \(String(repeating: "-", count: 100))".utf8)
                .write(to: folder.appending(path: "text"))
            let text = try SQLiteConnection(path: folder.appending(path: "text").path())
            let foreign = #expect(throws: SQLiteError.self) { try text.integer("SELECT count(*) FROM sqlite_schema") }
            #expect(foreign?.code == .notADatabase)
        }
    }
}
