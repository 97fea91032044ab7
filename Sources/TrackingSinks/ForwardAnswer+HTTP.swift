import TrackingCore

/// The reading of HTTP answers.
extension ForwardAnswer {
    /// The largest number of bytes of an answer's body that is read: 64 KiB.
    package static let maximumBodyBytes = 65_536

    /// Makes the result of a request from the sink's answer.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - body: The body of the answer.
    ///   - retryAfter: The wait that the server requests in the header `Retry-After`; zero for none.
    ///   - count: The number of points in the request.
    ///   - address: The address of the sink.
    package init(status: Int, body: [UInt8], retryAfter: Duration, count: Int, from address: ForwardAddress) {
        let wait = min(retryAfter, Self.longestRequestedWait)
        switch status {
        case 200..<300:
            self = Self.accepted(status, body, from: address)
        case 300..<400:
            self.init(
                .failed,
                reason:
                    "the server redirects to another address (HTTP \(status)), and redirects are not followed. Give the other address in place of this one"
            )
        case 401, 403:
            let remedy = address.kind == .overland ? "the token in --token-file" : "the secret in --secret-file"
            self.init(.failed, reason: "the server rejects the request (HTTP \(status)). Check \(remedy)")
        case 404, 405:
            self.init(.failed, reason: "the server has no such path (HTTP \(status)). Check the path of the address")
        case 400, 413, 422:
            self.init(
                .rejectedContent(count: count),
                reason: "the server rejects the content of the request (HTTP \(status))", requestedWait: wait)
        default:
            self.init(.failed, reason: "the server answered with HTTP status \(status)", requestedWait: wait)
        }
        if self.verdict == .failed { self.requestedWait = wait }
    }

    private static func accepted(_ status: Int, _ body: [UInt8], from address: ForwardAddress) -> Self {
        guard address.kind == .overland else { return Self(.acknowledged) }
        // An Overland server states in the body that it has stored the points.
        let answer = (try? JSONValue(json: body, maximumBytes: self.maximumBodyBytes))?.object
        if answer?["result"]?.text == "ok" { return Self(.acknowledged) }
        let error = (answer?["error"]?.text).map { ": \($0.prefix(200))" } ?? ""
        return Self(
            .failed,
            reason:
                "the server answered with HTTP status \(status), but without \"result\":\"ok\"\(error). Check that the address is that of an Overland server"
        )
    }
}
