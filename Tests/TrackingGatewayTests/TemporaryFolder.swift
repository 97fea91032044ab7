import Foundation

@testable import TrackingGateway
@testable import TrackingRules

/// A temporary folder that is removed with the test.
final class TemporaryFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "godwit-gateway-\(UUID().uuidString)")

    init() { try? FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: self.url) }

    /// Opens the gateway's database in the folder; several may be open.
    func database() throws -> GatewayDatabase {
        try GatewayDatabase(at: self.url.appending(path: "gateway.sqlite").path())
    }
}
