import SystemLibrary
import NIOCore
import TrackingCore

/// The error for an address that the server cannot listen on.
enum ListenFailure {
    /// Runs a server.
    ///
    /// - Throws: `inputUnreadable` where the address cannot be listened on; else what the server throws.
    static func named(host: String, port: Int, _ serve: () async throws -> Void) async throws {
        do {
            try await serve()
        } catch let error as IOError {
            throw Self.error(host, port, String(cString: strerror(error.errnoCode)))
        } catch is SocketAddressError.UnknownHost {
            throw Self.error(host, port, "no such address")
        } catch is SocketAddressError {
            throw Self.error(host, port, "no such address")
        }
    }

    private static func error(_ host: String, _ port: Int, _ reason: String) -> TrackingError {
        let name = host.contains(":") ? "[\(host)]" : host
        return TrackingError(
            .inputUnreadable,
            "cannot listen on \(name):\(port): \(reason); give another address with --listen, or end what listens there"
        )
    }
}
