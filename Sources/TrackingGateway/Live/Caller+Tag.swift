import TrackingCore

extension Caller {
    /// Tells callers apart who may read something else, without telling who they are: the same however they let themselves in, and
    /// over restarts of the gateway. A page that hears of another one has nothing to show of what the one before was told.
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
