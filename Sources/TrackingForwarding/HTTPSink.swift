package import TrackingCore
package import TrackingHTTP
package import TrackingSinks

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
    /// - Throws: `invalidConfiguration` for a broker, for a webhook without a secret of at least 16 bytes, and if
    ///   libcurl is missing.
    package init(
        _ address: ForwardAddress, secret: String?, timeout: Duration = HTTPSink.standardTimeout
    ) throws(TrackingError) {
        try address.check(secret: secret)
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
        let request = ForwardRequest(batch, to: self.address, secret: self.secret, at: now)
        return (await request.send(to: self.address, over: client, within: self.timeout), request.count)
    }
}
