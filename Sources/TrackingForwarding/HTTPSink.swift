package import TrackingCore
import TrackingCrypto
package import TrackingHTTP

/// A server that receives points as POST requests.
package struct HTTPSink: Sendable {
    /// The address of the server.
    package let address: ForwardAddress
    /// The token or the key of the signature; `nil` for requests without a token.
    private let secret: String?
    private let timeout: Duration

    /// The time limit for a request with its answer: 30 s.
    package static let standardTimeout = Duration.seconds(30)

    /// Creates a sink. Nothing is sent yet.
    ///
    /// - Parameters:
    ///   - address: The address of the server.
    ///   - secret: The token of an Overland server, or the key of a webhook's signatures; `nil` for none.
    ///   - timeout: The time limit for a request with its answer.
    /// - Throws: `invalidConfiguration` for a broker, and for a webhook without a secret of at least 16 bytes.
    package init(
        _ address: ForwardAddress, secret: String?, timeout: Duration = HTTPSink.standardTimeout
    ) throws(TrackingError) {
        guard address.kind != .mqtt else {
            throw TrackingError(.invalidConfiguration, "cannot send HTTP requests to the broker \(address)")
        }
        guard address.kind != .webhook || (secret?.utf8.count ?? 0) >= 16 else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot forward to \(address): its requests are signed with a secret of at least 16 bytes. Give --secret-file"
            )
        }
        self.address = address
        self.secret = secret
        self.timeout = timeout
    }

    /// Sends the first points of a batch, and returns the result with the number of points that were sent. It never
    /// throws: a failure is a result.
    ///
    /// - Parameters:
    ///   - batch: The batch.
    ///   - client: The HTTP client.
    ///   - now: The time of the wall clock, for the signature.
    package func send(
        _ batch: ForwardBatch, over client: HTTPClient, at now: UnixTime
    ) async -> (answer: ForwardAnswer, count: Int) {
        let (body, count) = self.address.kind == .overland ? batch.overlandBody : batch.webhookBody
        let headers = [("user-agent", "godwit")] + self.headers(of: body, at: now)
        let request = HTTPClient.Request(self.address.url, method: .post, headers: headers, body: body)
        return (await self.exchange(request, count, client), count)
    }

    private func headers(of body: [UInt8], at now: UnixTime) -> [(String, String)] {
        guard self.address.kind == .overland else {
            return [
                ("content-type", "application/cloudevents-batch+json"),
                ("godwit-signature", self.signature(of: body, at: now)),
            ]
        }
        return [("content-type", "application/json"), ("accept", "application/json")]
            + (self.secret.map { [("authorization", "Bearer \($0)")] } ?? [])
    }

    /// Returns the signature of a request: `t=UNIXTIME,v1=HEX`, with the HMAC-SHA256 of `UNIXTIME.BODY`, as the webhooks
    /// of rules have it.
    private func signature(of body: [UInt8], at now: UnixTime) -> String {
        let seconds = String(Int64(now.seconds))
        let code = SHA256.authenticationCode(
            for: Array("\(seconds).".utf8) + body, key: Array((self.secret ?? "").utf8))
        return "t=\(seconds),v1=\(code.hexText)"
    }

    /// Sends a request and reads its answer, within the time limit.
    private func exchange(_ request: HTTPClient.Request, _ count: Int, _ client: HTTPClient) async -> ForwardAnswer {
        let reason: String
        do {
            let answer = try await client.exchange(
                request, within: self.timeout, upTo: ForwardAnswer.maximumBodyBytes)
            // Only an Overland server acknowledges in the body. Any other answer counts by its status alone.
            let needsBody = self.address.kind == .overland && (200..<300).contains(answer.status)
            guard needsBody, let incompleteness = answer.incompleteness else {
                return ForwardAnswer(
                    status: answer.status, body: answer.body, retryAfter: answer.retryAfter, count: count,
                    from: self.address)
            }
            reason = incompleteness == .cut ? "the body is incomplete" : "the body is too long"
        } catch {
            reason = "\(error)"
        }
        return ForwardAnswer(.failed, reason: "the server cannot be reached, or its answer is unusable: \(reason)")
    }
}
