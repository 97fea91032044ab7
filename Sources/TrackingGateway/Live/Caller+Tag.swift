import TrackingCore

extension Caller {
    /// A text that differs between callers with different access, without revealing who they are. It is the same for
    /// each way to sign in, and after a restart of the gateway. A page that receives another tag discards its data.
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
