package import TrackingCore
import TrackingCrypto

/// The address of a sink, with the protocol that it understands, such as `overland+https://example.org/api/overland`.
///
/// A fragment names a file with the secret of this sink alone: `#token-file=PATH` for Overland, `#secret-file=PATH` for
/// a webhook.
package struct ForwardAddress: Hashable, Sendable, CustomStringConvertible {
    /// The protocol of a sink.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The batches of the app Overland.
        case overland
        /// CloudEvents 1.0 in JSON batches, signed.
        case webhook

        /// The key of the fragment that names the file with the sink's secret.
        package var secretKey: String { self == .overland ? "token-file" : "secret-file" }
    }

    /// The protocol of the sink.
    package let kind: Kind
    /// The address without the protocol and the fragment: `http://` or `https://`, with a host.
    package let url: String
    /// The path of the file with the secret of this sink; `nil` for the secret of all sinks of this kind.
    package let secretFile: String?

    /// Parses the address of a sink.
    ///
    /// - Throws: `invalidConfiguration` that names the violated rule. The error does not contain the address, which may
    ///   have a secret in its query.
    package init(_ text: String) throws(TrackingError) {
        guard text.utf8.count <= 2048 else { throw Self.error("it has more than 2048 bytes. Use a shorter address") }
        guard let sign = text.firstIndex(of: "+"), let kind = Kind(rawValue: String(text[..<sign])) else {
            throw Self.error(
                "it must begin with overland+https://, overland+http://, webhook+https:// or webhook+http://")
        }
        let parts = text[text.index(after: sign)...].split(
            separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let url = String(parts[0])
        guard url.wholeMatch(of: #/https?:\/\/[^\/?#@\s]+([\/?][^\s]*)?/#) != nil else {
            throw Self.error(
                "after \(kind)+ it must be an http:// or https:// URL with a host, and without a user and spaces")
        }
        self.kind = kind
        self.url = url
        guard parts.count > 1 else {
            self.secretFile = nil
            return
        }
        let fragment = parts[1]
        guard fragment.hasPrefix("\(kind.secretKey)="), fragment.utf8.count > kind.secretKey.utf8.count + 1 else {
            throw Self.error("after # it must have \(kind.secretKey)=PATH")
        }
        self.secretFile = String(fragment.dropFirst(kind.secretKey.count + 1))
    }

    /// The name of the sink in the history: the protocol, and a digest of the address. Another secret file does not
    /// change it.
    package var name: String {
        let digest = SHA256.digest(of: Array(self.url.utf8)).prefix(12)
        return "\(self.kind.rawValue):\(digest.hexText)"
    }

    /// The address with its protocol, and without path and query, which may be secret.
    package var description: String {
        let parts = self.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        return "\(self.kind.rawValue)+\(parts[0])//\(parts[2].prefix { !"/?".contains($0) })"
    }

    private static func error(_ rule: String) -> TrackingError {
        TrackingError(.invalidConfiguration, "cannot use the address of a sink: \(rule)")
    }
}

extension Sequence<UInt8> {
    /// The bytes as hexadecimal digits in lower case.
    var hexText: String { self.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
