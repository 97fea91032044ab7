import ArgumentParser
import Foundation
import GodwitOptions
import Testing
import TrackingCore
import TrackingGateway

@testable import godwit

/// The trackables that a gateway's tokens make known.
@Suite struct KnownTrackablesTests {
    @Test func onlyAValidTokenMakesItsTrackableKnown() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-known-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let state = try StateOptions.parse(["--state", folder])
        let (van, bus) = (try TrackableID("van"), try TrackableID("bus"))
        let expired = AccessGrant(
            name: "old", publishes: .only([van]), begins: UnixTime(1_700_000_000), ends: UnixTime(1_700_000_060))
        let valid = AccessGrant(name: "new", publishes: .only([bus]), begins: TimeText.now)
        try await state.useAccess { for grant in [expired, valid] { _ = try await $0.makeToken(grant) } }
        // An unknown trackable is looked up in the history, which is missing.
        let store = try StoreOptions.parse(["--store", "sqlite:\(folder)/missing.sqlite"])
        let known = KnownTrackables(state: state, store: store)
        guard case .known = try await known.find(bus) else {
            Issue.record("the trackable of a valid token is not known")
            return
        }
        let error = await #expect(throws: TrackingError.self) { _ = try await known.find(van) }
        #expect(error?.code == .inputUnreadable)
    }
}
