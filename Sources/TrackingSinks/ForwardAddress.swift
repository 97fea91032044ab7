package import TrackingCore
import TrackingCrypto
import TrackingMQTT

/// The address of a sink, with the protocol that it understands, such as `overland+https://example.org/api/overland` or
/// `mqtts://me@broker.example.org`.
///
/// A fragment names a file with the secret of this sink alone: `#token-file=PATH` for Overland, `#secret-file=PATH` for
/// a webhook, `#password-file=PATH` for a broker. The fragment of a broker can also have `ca=PATH`, a file with the
/// certificate authorities, and `topic-root=LEVELS`, with `&` between them.
package struct ForwardAddress: Hashable, Sendable, CustomStringConvertible {
    /// The protocol of a sink.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The batches of the app Overland.
        case overland
        /// CloudEvents 1.0 in JSON batches, signed.
        case webhook
        /// Godwit's protocol at another broker.
        case mqtt

        /// The key of the fragment that names the file with the sink's secret.
        package var secretKey: String {
            switch self {
            case .overland: "token-file"
            case .webhook: "secret-file"
            case .mqtt: "password-file"
            }
        }
    }

    /// The protocol of the sink.
    package let kind: Kind
    /// The address without the fragment: `http://` or `https://` with a host, or `mqtt://` or `mqtts://` with a host
    /// and perhaps a user.
    package let url: String
    /// The path of the file with the secret of this sink; `nil` for the secret of all sinks of this kind.
    package private(set) var secretFile: String?
    /// The path of the file with the certificate authorities of a broker; `nil` for those of the system.
    package private(set) var authorities: String?
    /// The topic root at a broker.
    package private(set) var topicRoot = TopicRoot.standard
    /// The address without secrets, for logs and messages.
    package let description: String
    /// The part of the address that tells two sinks apart.
    private let identity: String

    /// Parses the address of a sink.
    ///
    /// - Throws: `invalidConfiguration` that names the violated rule. The error does not contain the address, which may
    ///   have a secret in its query.
    package init(_ text: String) throws(TrackingError) {
        guard text.utf8.count <= 2048 else { throw Self.error("it has more than 2048 bytes. Use a shorter address") }
        let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let start = parts.first ?? ""
        if start.hasPrefix("mqtt://") || start.hasPrefix("mqtts://") {
            let (endpoint, credentials) = try MQTTEndpoint.parse(String(start))
            (self.kind, self.url, self.description) = (.mqtt, String(start), "\(endpoint)")
            self.identity = credentials.map { "\(endpoint) \($0.user)" } ?? "\(endpoint)"
        } else {
            (self.kind, self.url) = try Self.http(start)
            (self.description, self.identity) = (Self.withoutPath(self.kind, self.url), self.url)
        }
        if parts.count > 1 { try self.read(fragment: parts[1]) }
    }

    /// Returns the protocol and the URL of an address that begins with the protocol and `+`.
    private static func http(_ text: Substring) throws(TrackingError) -> (Kind, String) {
        guard let sign = text.firstIndex(of: "+"), let kind = Kind(rawValue: String(text[..<sign])), kind != .mqtt
        else {
            throw Self.error(
                "it must begin with overland+https://, overland+http://, webhook+https://, webhook+http://, mqtts:// or mqtt://"
            )
        }
        let url = text[text.index(after: sign)...]
        guard Self.isURL(url) else {
            throw Self.error(
                "after \(kind)+ it must be an http:// or https:// URL with a host, and without a user and spaces")
        }
        let host = url.drop { $0 != "/" }.dropFirst(2).prefix { !"/?".contains($0) }
        let port = host.hasSuffix("]") ? "" : host.drop { $0 != ":" }.split(separator: ":").last ?? ""
        guard port.isEmpty || UInt16(port).map({ $0 > 0 }) == true else {
            throw Self.error("it must have a port from 1 to 65535")
        }
        return (kind, String(url))
    }

    /// Returns `true` for an `http://` or `https://` URL with a host, and without a user and spaces.
    private static func isURL(_ text: Substring) -> Bool {
        guard let scheme = ["http://", "https://"].first(where: text.hasPrefix) else { return false }
        let rest = text.dropFirst(scheme.count)
        let host = rest.prefix { $0 != "/" && $0 != "?" }
        return !host.isEmpty && !host.contains("@") && !rest.contains(where: \.isWhitespace)
    }

    /// Returns a URL with its protocol, and without path and query, which may be secret.
    private static func withoutPath(_ kind: Kind, _ url: String) -> String {
        let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        return "\(kind.rawValue)+\(parts[0])//\(parts[2].prefix { !"/?".contains($0) })"
    }

    private mutating func read(fragment: Substring) throws(TrackingError) {
        guard self.kind == .mqtt else {
            self.secretFile = Self.value(of: self.kind.secretKey, in: fragment)
            guard self.secretFile == nil else { return }
            throw Self.error("after # it must have \(self.kind.secretKey)=PATH")
        }
        for member in fragment.split(separator: "&", omittingEmptySubsequences: false) {
            if let path = Self.value(of: self.kind.secretKey, in: member) {
                self.secretFile = path
            } else if let path = Self.value(of: "ca", in: member) {
                self.authorities = path
            } else if let levels = Self.value(of: "topic-root", in: member) {
                do throws(TrackingError) {
                    self.topicRoot = try TopicRoot(levels)
                } catch {
                    throw Self.error(error.message)
                }
            } else {
                throw Self.error(
                    "after # it must have password-file=PATH, ca=PATH or topic-root=LEVELS, with & between them")
            }
        }
    }

    /// Returns the value of a member `KEY=VALUE`; `nil` for another key and for an empty value.
    private static func value(of key: String, in member: Substring) -> String? {
        guard member.hasPrefix("\(key)=") else { return nil }
        let value = member.dropFirst(key.count + 1)
        return value.isEmpty ? nil : String(value)
    }

    /// The name of the sink in the history: the protocol, and a digest of the address. Another secret file does not
    /// change it, nor does another password of a broker's user.
    package var name: String {
        let root = self.topicRoot == .standard ? "" : " \(self.topicRoot.path)"
        let digest = SHA256.digest(of: Array("\(self.identity)\(root)".utf8)).prefix(12)
        return "\(self.kind.rawValue):\(digest.hexText)"
    }

    /// The broker with the user, as text; `nil` for an HTTP server, and for a broker without a user. A broker closes the
    /// older one of two connections of a forwarder with the same login, because the user is also the client id.
    package var brokerLogin: String? {
        self.kind == .mqtt && self.identity != self.description ? self.identity : nil
    }

    private static func error(_ rule: String) -> TrackingError {
        TrackingError(.invalidConfiguration, "cannot use the address of a sink: \(rule)")
    }
}

extension Sequence<UInt8> {
    /// The bytes as hexadecimal digits in lower case.
    package var hexText: String { self.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
