package import TrackingCore

/// The HTTP paths that accept the requests of the app Overland: `/overland`, and the paths that an operator adds.
package struct OverlandPaths: Hashable, Sendable {
    /// All paths for Overland, each once and without empty parts, which the router ignores too.
    package private(set) var all = ["/overland"]

    /// The first parts of the gateway's own HTTP paths. A path for Overland that begins with one of them is rejected.
    private static let taken: Set<Substring> = [
        "healthz", "leaflet", "map", "metrics", "nextbillion", "owntracks", "points", "readyz", "s", "session",
        "skynet", "tiles",
    ]
    /// The path parts that follow `/api/v1` in the gateway's own HTTP paths, such as `live`. An operator cannot add a
    /// path for Overland that begins with `/api/v1` and one of these parts.
    private static let takenOfAPI: Set<Substring> = [
        "credentials", "fences", "journeys", "live", "openapi.json", "positions", "quarantine", "rules", "shares",
        "trackables",
    ]

    /// Creates the list of the paths for Overland. It contains only `/overland` at first.
    package init() {}

    /// Adds a path for Overland's requests, unless it was added before.
    ///
    /// - Throws: `invalidConfiguration` if the path does not begin with `/`, does not have 2 to 200 characters, has
    ///   characters that are not allowed, or collides with the gateway's own paths.
    package mutating func add(_ path: String) throws(TrackingError) {
        guard path.hasPrefix("/"), (2...200).contains(path.utf8.count), path.utf8.allSatisfy(Self.isPlain) else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot use --overland-path '\(path.prefix(80))': the path must begin with / and have 2 to 200 characters of A-Z a-z 0-9 . _ - and /, such as /api/locations"
            )
        }
        let parts = Self.parts(of: path)
        guard !Self.isTaken(parts) else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot use --overland-path '\(path.prefix(80))': the gateway uses this path itself; choose another, such as /api/locations"
            )
        }
        let plain = Self.path(parts)
        if !self.all.contains(plain) { self.all.append(plain) }
    }

    /// Returns `true` if the path of a request is one for Overland.
    func contains(_ path: some StringProtocol) -> Bool { self.all.contains(Self.path(Self.parts(of: String(path)))) }

    private static func isTaken(_ parts: [Substring]) -> Bool {
        guard let first = parts.first else { return true }
        guard parts.starts(with: ["api", "v1"]) else { return self.taken.contains(first) }
        return parts.count == 2 || self.takenOfAPI.contains(parts[2])
    }

    private static func parts(of path: String) -> [Substring] { path.split(separator: "/") }
    private static func path(_ parts: [Substring]) -> String { parts.map { "/\($0)" }.joined() }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch UnicodeScalar(byte) {
        case "A"..."Z", "a"..."z", "0"..."9", ".", "_", "-", "/": true
        default: false
        }
    }
}
