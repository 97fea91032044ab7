/// The limits of one token that differ from the defaults.
package struct TokenLimits: Hashable, Sendable {
    /// The requests per second in the long run, in ``requestRange``; `nil` for the default.
    package var requestsPerSecond: Double?
    /// The most bytes of a request's body, after decompression, in ``bodyRange``; `nil` for the default.
    package var bodyBytes: Int?

    /// The allowed range of requests per second.
    package static let requestRange = 0.1...100_000
    /// The allowed range of body bytes.
    package static let bodyRange = 1024...1_073_741_824

    /// Makes limits.
    package init(requestsPerSecond: Double? = nil, bodyBytes: Int? = nil) {
        self.requestsPerSecond = requestsPerSecond
        self.bodyBytes = bodyBytes
    }
}
