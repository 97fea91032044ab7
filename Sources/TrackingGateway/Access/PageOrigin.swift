/// The origin of a web page, as a browser sends it in the header `Origin`, such as `https://tracks.example.org`.
struct PageOrigin: Hashable {
    private let scheme: String
    /// The host and port of the origin, in lower case, without the default port of the scheme.
    private let authority: String

    /// Reads the origin at the beginning of a URL or of the header `Origin`. `nil` for any text that does not begin
    /// with `http://` or `https://` and a host, such as `null`.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count >= 3, parts[1].isEmpty, ["http:", "https:"].contains(parts[0].lowercased()) else {
            return nil
        }
        self.scheme = String(parts[0].lowercased().dropLast())
        self.authority = Self.authority(String(parts[2]), self.scheme)
        guard !self.authority.isEmpty else { return nil }
    }

    /// Returns `true` if this origin belongs to the gateway's own pages. These origins are the gateway's public
    /// address, and the host to which the request was sent.
    ///
    /// - Parameters:
    ///   - url: The public address of the gateway; `nil` if it is not known.
    ///   - host: The value of the request's header `Host`.
    func isOwn(url: String?, host: String?) -> Bool {
        if let own = url.flatMap({ PageOrigin($0) }), own == self { return true }
        guard let host, !host.isEmpty else { return false }
        return Self.authority(host, self.scheme) == self.authority
    }

    private static func authority(_ text: String, _ scheme: String) -> String {
        let lower = text.lowercased()
        let own = scheme == "https" ? ":443" : ":80"
        return lower.hasSuffix(own) ? String(lower.dropLast(own.count)) : lower
    }
}
