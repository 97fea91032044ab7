import Testing
import TrackingCore
import TrackingStore

@testable import TrackingGateway
@testable import TrackingRules

@Suite struct AuditLogTests {
    private let folder = TemporaryFolder()
    private let database: GatewayDatabase

    init() throws { self.database = try self.folder.database() }

    @Test func eachChangeHasOneEntryWithItsActor() async throws {
        let rules = RuleStore(self.database)
        let access = AccessStore(self.database).acting(as: AuditActor(name: "boss", token: 3, address: "127.0.0.1"))
        let van = try TrackableID("van")
        _ = try await rules.setLabel(of: van, ["name=Van 7"])
        try await rules.add(RuleDefinition(name: "r", .arrived))
        #expect(try await rules.removeRule("r"))
        #expect(try await !rules.removeRule("r"))
        let token = try await access.makeToken(AccessGrant(name: "desk", reads: .all, begins: UnixTime(0)))
        #expect(try await access.revokeToken("desk", now: UnixTime(1)))
        #expect(try await !access.revokeToken("desk", now: UnixTime(1)))
        let entries = try await AuditLog(self.database).entries()
        #expect(
            entries.map { "\($0.actor.name): \($0.action) \($0.object)" } == [
                "command line: set label van", "command line: set rule r", "command line: remove rule r",
                "boss: create token desk", "boss: revoke token desk",
            ])
        #expect(entries.last?.actor == AuditActor(name: "boss", token: 3, address: "127.0.0.1"))
        #expect(entries.map(\.number) == [1, 2, 3, 4, 5] && entries[0].time.seconds > 1.7e9)
        #expect(!"\(entries)".contains(token.text))
    }

    @Test func aRefusedChangeHasNoEntry() async throws {
        let rules = RuleStore(self.database)
        await #expect(throws: TrackingError.self) {
            try await rules.add(RuleDefinition(name: "in", .enter(fence: "none")))
        }
        #expect(try await rules.add(RuleDefinition(name: "r", .arrived)) { $0 != nil } == .missing)
        #expect(try await AuditLog(self.database).entries() == [])
    }

    @Test func theOldestEntryMakesRoom() async throws {
        let audit = AuditLog(self.database)
        try await audit.add(.setFence, "first", by: .commandLine)
        try await audit.add(.setFence, "second", by: .commandLine)
        try await self.database.write { db in
            try db.execute(
                sql: "INSERT INTO audit(number, time, name, action, object) VALUES(?, 1, 'x', 'y', 'z')",
                arguments: [AuditLog.maximum])
        }
        try await audit.add(.setFence, "last", by: .commandLine)
        #expect(try await audit.entries().map(\.object) == ["second", "z", "last"])
        #expect(try await audit.entries(since: UnixTime(2), after: 2).map(\.object) == ["last"])
        #expect(try await audit.entries(limit: 1).map(\.object) == ["second"])
    }
}
