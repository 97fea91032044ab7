import Foundation
import Testing
import TrackingCore

@testable import TrackingGateway
@testable import TrackingRules

@Suite struct ErasuresTests {
    private let folder = TemporaryFolder()
    private let secret = "52.71283641"

    private func filesHolding(_ text: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(at: self.folder.url, includingPropertiesForKeys: nil).filter {
            try Data(contentsOf: $0).range(of: Data(text.utf8)) != nil
        }.map(\.lastPathComponent)
    }

    private func fill(_ id: TrackableID, _ database: GatewayDatabase, at time: Double) async throws {
        let payload = "{\"coordinates\":[-8.6,\(self.secret)]}"
        let drafts = (0..<200).map { _ in
            Outbox.Draft(trackable: id, kind: .position, time: UnixTime(time), payload: payload)
        }
        try await database.write { try Outbox.add(drafts, to: $0) }
        try await Quarantine(database: database).add(
            (0..<50).map { RefusedPiece(reason: "no \($0)", bytes: Array(payload.utf8)) }, of: id, from: "x",
            at: UnixTime(time))
    }

    /// Another program has the file open during the erasure, as a running gateway would.
    @Test func noByteOfWhatWasErasedIsLeft() async throws {
        let (database, other) = (try self.folder.database(), try self.folder.database())
        let (van, bus) = (try TrackableID("van"), try TrackableID("bus"))
        try await self.fill(van, database, at: 1000)
        // These messages were deleted earlier, after all readers had read them.
        try await Outbox(database).begin("hook")
        try await Outbox(database).advance("hook", to: 100)
        _ = try await Outbox(database).trim(now: UnixTime(1001))
        #expect(try !self.filesHolding(self.secret).isEmpty)
        try await Erasures(other).erase(van, before: nil)
        #expect(try self.filesHolding(self.secret).isEmpty)
        try await self.fill(bus, database, at: 1000)
        try await self.fill(van, database, at: 1000)
        try await Erasures(other).erase(van, before: UnixTime(1000))
        let left = try await Quarantine(database: database).entries(limit: 1000)
        #expect(left.count { $0.trackable == "van" } == 50 && left.count { $0.trackable == "bus" } == 50)
    }

    @Test func aRequestStaysUntilItIsRemoved() async throws {
        let (erasures, other) = (Erasures(try self.folder.database()), Erasures(try self.folder.database()))
        let van = try TrackableID("van")
        let first = try await erasures.request(van, before: UnixTime(5))
        let second = try await erasures.request(van, before: nil)
        #expect(
            try await other.requests() == [
                Erasures.Request(number: first, trackable: van, before: UnixTime(5)),
                Erasures.Request(number: second, trackable: van, before: nil),
            ])
        try await other.remove(first)
        #expect(try await erasures.requests().map(\.number) == [second])
    }

    /// The name of a gateway belongs to its folder, by whatever path the folder is given, and not to its machine.
    @Test func gatewaysHaveDifferentNames() async throws {
        let manager = FileManager.default
        let (first, second, link) = (
            self.folder.url.appending(path: "a").path(), self.folder.url.appending(path: "b").path(),
            self.folder.url.appending(path: "link").path()
        )
        for folder in [first, second] { try manager.createDirectory(atPath: folder, withIntermediateDirectories: true) }
        try manager.createSymbolicLink(atPath: link, withDestinationPath: first)
        // The gateway and a command may be the first ones at the same time.
        let names = try await withThrowingTaskGroup(of: String.self) { group in
            for folder in [first, link, first, "\(first)/"] { group.addTask { try Erasures.gateway(in: folder) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(names.count == 1)
        #expect(try !names.contains(Erasures.gateway(in: second)))
        #expect(try manager.contentsOfDirectory(atPath: first) == ["gateway-name"])
        #expect(manager.createFile(atPath: "\(second)/gateway-name", contents: Data()))
        let error = #expect(throws: TrackingError.self) { try Erasures.gateway(in: second) }
        #expect(error?.code == .storeFailed)
    }
}
