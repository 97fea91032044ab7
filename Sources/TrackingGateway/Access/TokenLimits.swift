/// The limits of one token's requests, which can differ from the gateway's defaults: their number per second, and the
/// size of their bodies.
package struct TokenLimits: Hashable, Sendable {
    /// The number of requests per second that the token may make in the long run, within ``requestRange``; `nil` for
    /// the default.
    package var requestsPerSecond: Double?
    /// The largest number of bytes in the body of the token's requests, after decompression, within ``bodyRange``;
    /// `nil` for the default.
    package var bodyBytes: Int?

    /// The allowed values of ``requestsPerSecond``: 0.1 to 100,000.
    package static let requestRange = 0.1...100_000
    /// The allowed values of ``bodyBytes``: 1 KiB to 1 GiB.
    package static let bodyRange = 1024...1_073_741_824

    /// Creates the request limits of one token. A limit that is `nil` is the gateway's default.
    package init(requestsPerSecond: Double? = nil, bodyBytes: Int? = nil) {
        self.requestsPerSecond = requestsPerSecond
        self.bodyBytes = bodyBytes
    }
}
