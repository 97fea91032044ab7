/// The settings of the gateway's authentication and sessions.
package struct AccessConfiguration: Sendable {
    /// The public address of the gateway for browsers, without a slash at the end; `nil` if it is not known.
    package var url: String?
    /// The largest number of bytes in the body of an HTTP request, after decompression, ≥ 1. A token can have a limit
    /// of its own in place of this limit.
    package var maximumBodyBytes: Int
    /// The default limit of the requests with one token: the largest number at once, and the number per second in the
    /// long run.
    package var rateLimit: RateLimit
    /// The limit of the requests with an invalid token or share link from one client address: the largest number at
    /// once, and the number per second in the long run.
    package var failureLimit: RateLimit
    /// Returns `true` for the path of a public file, such as the map page. Clients may load such a file without a
    /// token.
    package var isPublic: @Sendable (String) -> Bool

    /// `true` when the public address begins with `https:`. All requests then come through a TLS proxy, which reports
    /// the address of each client in `X-Forwarded-For`.
    var isBehindProxy: Bool { self.url?.hasPrefix("https:") == true }
}
