import Foundation

@testable import TrackingGateway

/// A folder of a test's own, which goes with it.
final class TemporaryFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "godwit-gateway-\(UUID().uuidString)")

    init() { try? FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: self.url) }

    /// The gateway's file in it; several may be open.
    func database() throws -> GatewayDatabase {
        try GatewayDatabase(path: self.url.appending(path: "gateway.sqlite").path())
    }
}
