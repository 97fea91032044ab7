/// What one token may at the most, where that is not what holds for all.
package struct TokenLimits: Hashable, Sendable {
    /// How many requests a second in the long run, ``requestRange``; `nil`: as for all.
    package var requestsPerSecond: Double?
    /// The most bytes of a request's body, after decompression, ``bodyRange``; `nil`: as for all.
    package var bodyBytes: Int?

    /// How many requests a second can be allowed.
    package static let requestRange = 0.1...100_000
    /// How many bytes of a body can be allowed.
    package static let bodyRange = 1024...1_073_741_824

    /// Makes limits.
    package init(requestsPerSecond: Double? = nil, bodyBytes: Int? = nil) {
        self.requestsPerSecond = requestsPerSecond
        self.bodyBytes = bodyBytes
    }
}
