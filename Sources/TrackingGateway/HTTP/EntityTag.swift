import HTTPTypes
import Hummingbird
import TrackingCrypto

/// The entity tag of a representation (RFC 9110, section 8.8.3), which is computed from its bytes.
enum EntityTag {
    /// Returns the entity tag of a body, with its quotation marks.
    static func text(of body: [UInt8]) -> String {
        "\"\(Base64URL.text(Array(SHA256.digest(of: body).prefix(12))))\""
    }

    /// Returns `true` if the values of a header field contain the given entity tag, weak or strong, or `*`.
    static func isNamed(_ tag: String, in fields: [String]) -> Bool {
        self.tags(in: fields).contains { $0 == "*" || $0 == tag || $0 == "W/\(tag)" }
    }

    /// Returns the entity tags in the values of a header field such as `If-Match`.
    static func tags(in fields: [String]) -> [String] {
        fields.joined(separator: ",").split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
    }
}

/// The condition of a request that changes something (RFC 9110, section 13): the headers `If-Match` and
/// `If-None-Match`.
struct WriteCondition: Hashable, Sendable {
    private let wanted: [String]
    private let unwanted: [String]

    /// Reads the condition of a request from the headers `If-Match` and `If-None-Match`. A request without these
    /// headers has no condition.
    init(_ request: Request) {
        self.wanted = request.headers[values: .ifMatch]
        self.unwanted = request.headers[values: .ifNoneMatch]
    }

    /// Returns `true` if the condition allows a change of the present representation. `If-Match` requires that this
    /// representation has one of the given tags, and `If-None-Match` that it has none of them. If
    /// there is no representation, only a request with `If-Match` is rejected.
    ///
    /// - Parameter present: The bytes of the present representation, as `GET` returns them; `nil` if there is none.
    func allows(_ present: [UInt8]?) -> Bool {
        guard let present else { return self.wanted.isEmpty }
        let tag = EntityTag.text(of: present)
        // A weak tag never matches here, because a change needs the very same bytes.
        let isWanted = EntityTag.tags(in: self.wanted).contains { $0 == "*" || $0 == tag }
        return (self.wanted.isEmpty || isWanted) && !EntityTag.isNamed(tag, in: self.unwanted)
    }
}
