import SystemLibrary
import NIOCore
import TrackingCore

/// Replaces the error of a server that cannot listen on its address by an error that names the address.
enum ListenFailure {
    /// Runs a server. If the server cannot listen on its address, replaces its error by one that names the address.
    ///
    /// - Throws: `inputUnreadable` if the server cannot listen on the address; otherwise the server's error.
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
            "cannot listen on \(name):\(port): \(reason); give another address with --listen, or stop the program that listens there"
        )
    }
}
