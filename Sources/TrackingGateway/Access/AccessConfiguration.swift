/// The settings of authentication and sessions.
package struct AccessConfiguration: Sendable {
    /// The address of the gateway for browsers, without a slash at the end; `nil` while unknown.
    package var url: String?
    /// The most bytes of a request's body, after decompression, ≥ 1.
    package var maximumBodyBytes: Int
    /// The most requests of one token.
    package var rateLimit: RateLimit
    /// The most failed attempts of one address.
    package var failureLimit: RateLimit
    /// Returns `true` for the path of a file that needs no token.
    package var isPublic: @Sendable (String) -> Bool

    /// `true` when a TLS proxy brings all requests, and reports the address of each client.
    var isBehindProxy: Bool { self.url?.hasPrefix("https:") == true }
}
