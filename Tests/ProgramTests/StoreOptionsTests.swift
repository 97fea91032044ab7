import ArgumentParser
import TestSupport
import Testing
import TrackingCore
import TrackingStore

@testable import godwit

/// The history that the option `--store` opens.
@Suite struct StoreOptionsTests {
    @Test func aReadingCommandMakesNoHistoryInPostgreSQL() async throws {
        let server = try await PostgresServer.shared()
        let store = try StoreOptions.parse(["--store", try await server.makeDatabase()])
        func count(mayMake: Bool) async throws -> Int {
            try await store.use(mayMake: mayMake) { try await $0.trackables(after: nil, limit: 1).count }
        }
        for _ in 0..<2 {
            let error = await #expect(throws: TrackingError.self) { _ = try await count(mayMake: false) }
            #expect(error?.code == .inputUnreadable && error?.message.contains("cannot find a history") == true)
        }
        #expect(try await count(mayMake: true) == 0)
        #expect(try await count(mayMake: false) == 0)
    }
}
