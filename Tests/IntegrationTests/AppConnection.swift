import Foundation
import TestSupport
import Testing

/// An app's connection to a broker over a plain socket (MQTT 3.1.1), so that a test can measure when the broker ends it.
final class AppConnection: Sendable {
    /// The bound of `docs/reference/http-api.md` for the end of a connection after its credential has ended: 2 s. It holds on
    /// a machine that does nothing else, as for `make drills`. Beside other tests, the end alone is tested.
    static let bound =
        ProcessInfo.processInfo.environment["GODWIT_DRILL_ALONE"] == nil ? Duration.seconds(60) : .seconds(2)

    private let connection: RawConnection

    /// Connects with a credential and subscribes to `tracking/van`.
    ///
    /// - Throws: `TestSupportError` if the broker refuses the credential.
    init(_ app: PrintedCredential, port: Int) async throws {
        self.connection = try RawConnection(port: port)
        try await self.connection.sendAll(
            Self.login(app) + Self.packet(0x82, [0, 1] + Self.text("tracking/van") + [0]))
        // The answers are CONNACK with 4 bytes and SUBACK with 5 bytes. A revoked token may end between them.
        let answer = try await self.connection.read { $0.count >= 9 }
        guard answer.starts(with: [0x20, 2, 0, 0]) else {
            throw TestSupportError("the broker refuses the credential: \(answer)")
        }
    }

    /// `true` if the broker has ended the connection.
    var hasEnded: Bool { self.connection.isClosedByPeer }

    /// Waits until the broker ends the connection, and returns that time.
    func end() async throws -> ContinuousClock.Instant {
        _ = try await self.connection.read()
        return .now
    }

    /// Expects that the broker ends the connection of an app once its credential has expired, and accepts no new one.
    static func expectEnd(of app: PrintedCredential, port: Int) async throws {
        let expiring = try await AppConnection(app, port: port)
        let expiry = app.expiry
        let expired = try await expiring.end()
        #expect(Date.now.timeIntervalSince1970 >= app.expires)
        #expect(expired <= expiry + Self.bound, "\(expiry.duration(to: expired)) after the end")
        #expect(try await !Self.isAccepted(app, port: port))
    }

    /// Returns `true` if the broker accepts a new connection with a credential.
    static func isAccepted(_ app: PrintedCredential, port: Int) async throws -> Bool {
        let connection = try RawConnection(port: port)
        try await connection.sendAll(Self.login(app))
        return try await connection.read { $0.count >= 4 }.starts(with: [0x20, 2, 0, 0])
    }

    /// The packet CONNECT with user and password, a clean session and no keep-alive.
    private static func login(_ app: PrintedCredential) -> [UInt8] {
        let parts = [app.clientID, app.username, app.password].flatMap(Self.text)
        return Self.packet(0x10, Self.text("MQTT") + [4, 0xC2, 0, 0] + parts)
    }

    private static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        return [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
    }

    private static func packet(_ type: UInt8, _ content: [UInt8]) -> [UInt8] {
        var (length, digits) = (content.count, [UInt8]())
        repeat {
            digits.append(UInt8(length & 0x7F) | (length > 0x7F ? 0x80 : 0))
            length >>= 7
        } while length > 0
        return [type] + digits + content
    }
}

extension PrintedCredential {
    /// The time on the monotonic clock at which the credential expires.
    var expiry: ContinuousClock.Instant {
        .now.advanced(by: .seconds(self.expires - Date.now.timeIntervalSince1970))
    }
}

extension PrintedCredential {
    /// Asks a gateway for a credential that can read the van, for a number of seconds.
    static func issued(
        for seconds: Int, by gateway: RunningProgram, port: Int, headers: [String: String]
    ) async throws -> PrintedCredential {
        let answer = try await LoopbackHTTP.request(
            "POST", "/api/v1/credentials", port: port, headers: headers, body: #"{"read":["van"],"for":\#(seconds)}"#)
        #expect(answer.status == 201, "\(answer.text) \(gateway.errors)")
        return try JSONDecoder().decode(PrintedCredential.self, from: answer.body)
    }
}
