/// The settings of the gateway's authentication and sessions.
package struct AccessConfiguration: Sendable {
    /// The public address of the gateway for browsers, without a slash at the end; `nil` if it is not known.
    package var url: String?
    /// The largest number of bytes in the body of an HTTP request, after decompression, ≥ 1.
    package var maximumBodyBytes: Int
    /// The default limit of requests with one token.
    package var rateLimit: RateLimit
    /// The limit of requests with an invalid token or share link from one client address.
    package var failureLimit: RateLimit
    /// Returns `true` for the path of a file that clients may load without a token, such as the map page.
    package var isPublic: @Sendable (String) -> Bool

    /// `true` when all requests come through a TLS proxy, which reports the address of each client.
    var isBehindProxy: Bool { self.url?.hasPrefix("https:") == true }
}
