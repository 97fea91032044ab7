import TrackingCore

extension Caller {
    /// A text that identifies a caller's access without revealing it: a hash of the name, the grant, the time span and
    /// the readable trackables. It does not depend on the session, and is the same after a restart of the gateway. A
    /// page that receives another tag than before discards its data, because its access has changed.
    var tag: String {
        let scope =
            switch self.reads {
            case .all: ["all"]
            case .only(let ids): ["only"] + ids.map(\.topicLevel).sorted()
            }
        let span = self.span.map { "\($0.lowerBound.seconds)..<\($0.upperBound.seconds)" }
        let parts = [self.name, self.grant.map { "\($0)" } ?? "", span ?? ""] + scope
        return Base64URL.text(Array(SecretHash(of: parts.joined(separator: "\n")).bytes.prefix(12)))
    }
}
