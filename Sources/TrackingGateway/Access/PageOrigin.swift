/// The origin of a page, as a browser sends it in `Origin`: `https://tracks.example.org`.
struct PageOrigin: Hashable {
    private let scheme: String
    /// Host and port, in lower case, without the scheme's own port.
    private let authority: String

    /// Reads an origin or the beginning of an address; `nil` for `null` and everything else.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count >= 3, parts[1].isEmpty, ["http:", "https:"].contains(parts[0].lowercased()) else {
            return nil
        }
        self.scheme = String(parts[0].lowercased().dropLast())
        self.authority = Self.authority(String(parts[2]), self.scheme)
        guard !self.authority.isEmpty else { return nil }
    }

    /// `true` for the origin of the gateway's own pages: that of its address, or that of the host that the request names.
    ///
    /// - Parameters:
    ///   - url: The address of the gateway from outside; `nil` where that is not known.
    ///   - host: The `Host` of the request.
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
