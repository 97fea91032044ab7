package import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
package import TrackingCore
import TrackingCrypto
import TrackingRuntime

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
    /// - Throws: `invalidConfiguration` for a webhook without a secret of at least 16 bytes.
    package init(
        _ address: ForwardAddress, secret: String?, timeout: Duration = HTTPSink.standardTimeout
    ) throws(TrackingError) {
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
        let (body, count) = batch.body(for: self.address.kind)
        var request = HTTPClientRequest(url: self.address.url)
        request.method = .POST
        request.headers.add(name: "user-agent", value: "godwit")
        for (name, value) in self.headers(of: body, at: now) { request.headers.add(name: name, value: value) }
        request.body = .bytes(ByteBuffer(bytes: body))
        return (await self.exchange(request, count, client), count)
    }

    private func headers(of body: [UInt8], at now: UnixTime) -> [(String, String)] {
        switch self.address.kind {
        case .overland:
            return [("content-type", "application/json"), ("accept", "application/json")]
                + (self.secret.map { [("authorization", "Bearer \($0)")] } ?? [])
        case .webhook:
            return [
                ("content-type", "application/cloudevents-batch+json"),
                ("godwit-signature", self.signature(of: body, at: now)),
            ]
        }
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
    private func exchange(_ request: HTTPClientRequest, _ count: Int, _ client: HTTPClient) async -> ForwardAnswer {
        let (address, timeout) = (self.address, self.timeout)
        do {
            let answer = try await withTimeLimit(timeout) {
                let response = try await client.execute(request, timeout: TimeAmount(timeout))
                // Only an Overland server acknowledges in the body. Any other answer counts by its status alone.
                let needsBody = address.kind == .overland && (200..<300).contains(response.status.code)
                var body: [UInt8] = []
                do {
                    let bytes = try await response.body.collect(upTo: ForwardAnswer.maximumBodyBytes)
                    body = Array(bytes.readableBytesView)
                } catch {
                    if needsBody { throw error }
                }
                return ForwardAnswer(
                    status: Int(response.status.code), body: body,
                    retryAfter: response.headers.first(name: "retry-after"), count: count, from: address)
            }
            guard let answer else { throw HTTPClientError.deadlineExceeded }
            return answer
        } catch {
            return ForwardAnswer(.failed, reason: "the server cannot be reached, or its answer is unusable: \(error)")
        }
    }
}

extension HTTPClient.Configuration {
    /// The configuration of the client for sinks: without redirects, and with TLS 1.2 or later.
    package static var sinks: Self {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        var configuration = Self(tlsConfiguration: tls)
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: .seconds(10), read: .seconds(30))
        // A refused connection is an error at once, so that the wait after it is decided in one place.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}
