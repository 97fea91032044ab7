package import TrackingCore
import TrackingCrypto
package import TrackingHTTP

/// A POST request with the first points of a batch, for a sink that is an HTTP server.
package struct ForwardRequest: Sendable {
    /// The URL of the sink.
    package let url: String
    /// The headers of the request.
    package let headers: [(name: String, value: String)]
    /// The body of the request.
    package let body: [UInt8]
    /// The number of points in the request.
    package let count: Int

    /// Makes a request with as many points of a batch as fit.
    ///
    /// - Parameters:
    ///   - batch: The batch.
    ///   - address: The address of the sink, not that of a broker.
    ///   - secret: The token of an Overland server, or the key of a webhook's signatures; `nil` for none.
    ///   - now: The time of the wall clock, for the signature.
    package init(_ batch: ForwardBatch, to address: ForwardAddress, secret: String?, at now: UnixTime) {
        self.url = address.url
        if address.kind == .overland {
            (self.body, self.count) = batch.overlandBody
            self.headers =
                [("content-type", "application/json"), ("accept", "application/json")]
                + (secret.map { [("authorization", "Bearer \($0)")] } ?? [])
        } else {
            (self.body, self.count) = batch.webhookBody
            self.headers = [
                ("content-type", "application/cloudevents-batch+json"),
                ("godwit-signature", Self.signature(of: self.body, at: now, secret ?? "")),
            ]
        }
    }

    /// Sends the request and reads the answer. It never throws: a failure is a result.
    ///
    /// - Parameters:
    ///   - address: The address of the sink.
    ///   - client: The HTTP client.
    ///   - limit: The time limit for the request with its answer.
    package func send(
        to address: ForwardAddress, over client: HTTPClient, within limit: Duration
    ) async -> ForwardAnswer {
        let request = HTTPClient.Request(
            self.url, method: .post, headers: [("user-agent", "godwit")] + self.headers, body: self.body)
        let reason: String
        do {
            let answer = try await client.exchange(request, within: limit, upTo: ForwardAnswer.maximumBodyBytes)
            // Only an Overland server acknowledges in the body. Any other answer counts by its status alone.
            let needsBody = address.kind == .overland && (200..<300).contains(answer.status)
            guard needsBody, let incompleteness = answer.incompleteness else {
                return ForwardAnswer(
                    status: answer.status, body: answer.body, retryAfter: answer.retryAfter, count: self.count,
                    from: address)
            }
            reason = incompleteness == .cut ? "the body is incomplete" : "the body is too long"
        } catch {
            reason = "\(error)"
        }
        return ForwardAnswer(.failed, reason: "the server cannot be reached, or its answer is unusable: \(reason)")
    }

    /// Returns the signature of a request: `t=UNIXTIME,v1=HEX`, with the HMAC-SHA256 of `UNIXTIME.BODY`, as the webhooks
    /// of rules have it.
    private static func signature(of body: [UInt8], at now: UnixTime, _ secret: String) -> String {
        let seconds = String(Int64(now.seconds))
        let code = SHA256.authenticationCode(for: Array("\(seconds).".utf8) + body, key: Array(secret.utf8))
        return "t=\(seconds),v1=\(code.hexText)"
    }
}

extension ForwardAddress {
    /// Checks that requests to this HTTP server can be made with a secret.
    ///
    /// - Throws: `invalidConfiguration` for a broker, for a webhook without a secret of at least 16 bytes, and if libcurl
    ///   is missing.
    package func check(secret: String?) throws(TrackingError) {
        guard self.kind != .mqtt else {
            throw TrackingError(.invalidConfiguration, "cannot send HTTP requests to the broker \(self)")
        }
        guard self.kind != .webhook || (secret?.utf8.count ?? 0) >= 16 else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot forward to \(self): its requests are signed with a secret of at least 16 bytes. Give --secret-file"
            )
        }
        do { try HTTPClient.load() } catch {
            throw TrackingError(.invalidConfiguration, "cannot send HTTP requests to \(self): \(error)")
        }
    }
}
