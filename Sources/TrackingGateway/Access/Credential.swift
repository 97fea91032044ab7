import FoundationEssentials
import HTTPTypes
import Hummingbird
import TrackingCore

/// The secret that an HTTP request presents.
enum Credential: Equatable {
    /// A token, or the secret of a share link, from a header or the query parameter `token`.
    case secret(String)
    /// The secret of a session, from the cookie of the gateway's page.
    case session(String)

    /// The largest number of bytes in a token or another secret that a request presents. A longer text is never valid.
    static let maximumBytes = 512
    /// The name of the cookie that contains the secret of a session.
    static let cookie = "godwit"

    /// Reads the credential of a request; `nil` for a request without one. Looks in this order for `Authorization:
    /// Bearer`, the password of `Authorization: Basic` (as OwnTracks sends it; Overland's OwnTracks mode sends `Basic
    /// TOKEN:`), the query parameter `token`, on the paths of NextBillion.ai's interface `key`, and the cookie. Any other `Authorization` counts as an empty secret,
    /// which is invalid.
    init?(_ request: Request) {
        if let text = request.headers[.authorization] {
            self = .secret(Self.secret(inAuthorization: text) ?? "")
        } else if let text = request.uri.queryParameters["token"] ?? Self.key(of: request) {
            self = .secret(String(text))
        } else if let text = Self.secret(inCookies: request.headers[values: .cookie]) {
            self = .session(text)
        } else {
            return nil
        }
    }

    private static func key(of request: Request) -> Substring? {
        guard NextBillionInterface.contains(request.uri.path) else { return nil }
        return request.uri.queryParameters[NextBillionInterface.key[...]]
    }

    private static func secret(inAuthorization text: String) -> String? {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        switch parts[0].lowercased() {
        case "bearer": return String(parts[1])
        case "basic":
            // Overland's OwnTracks mode sends `TOKEN:` without base64 encoding. Base64 text never ends with a colon.
            if parts[1].last == ":" { return String(parts[1].dropLast()) }
            guard parts[1].utf8.count <= 2 * self.maximumBytes, let bytes = Data(base64Encoded: String(parts[1])) else {
                return nil
            }
            let pair = String(decoding: bytes, as: UTF8.self)
            return pair.firstIndex(of: ":").map { String(pair[pair.index(after: $0)...]) }
        default: return nil
        }
    }

    private static func secret(inCookies headers: [String]) -> String? {
        for pair in headers.joined(separator: ";").split(separator: ";") {
            let pair = pair.drop { $0 == " " }
            if pair.hasPrefix("\(self.cookie)=") { return String(pair.dropFirst(self.cookie.count + 1)) }
        }
        return nil
    }
}
