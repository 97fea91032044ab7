package import TrackingCore

/// The paths that take Overland's batches: `/overland`, and those that an operator adds.
package struct OverlandPaths: Hashable, Sendable {
    /// Each once, without empty parts, which the router does not see either.
    package private(set) var all = ["/overland"]

    /// How the paths begin that the gateway has itself.
    private static let taken: Set<Substring> = [
        "healthz", "leaflet", "map", "metrics", "owntracks", "points", "readyz", "s", "session", "tiles",
    ]
    /// How those go on that begin with `/api/v1`.
    private static let takenOfAPI: Set<Substring> = [
        "fences", "live", "openapi.json", "positions", "quarantine", "rules", "trackables",
    ]

    /// Makes the standard path.
    package init() {}

    /// Adds a path; one that is there already is not there twice.
    ///
    /// - Throws: `invalidConfiguration` where it is no plain path, or is taken.
    package mutating func add(_ path: String) throws(TrackingError) {
        guard path.hasPrefix("/"), (2...200).contains(path.utf8.count), path.utf8.allSatisfy(Self.isPlain) else {
            throw TrackingError(
                .invalidConfiguration,
                "--overland-path is 1 to 200 of A-Z a-z 0-9 . _ - and / after a first /, as in /api/locations; not '\(path.prefix(80))'"
            )
        }
        let parts = Self.parts(of: path)
        guard !Self.isTaken(parts) else {
            throw TrackingError(
                .invalidConfiguration,
                "--overland-path '\(path.prefix(80))' is taken by the gateway itself; choose another, as /api/locations"
            )
        }
        let plain = Self.path(parts)
        if !self.all.contains(plain) { self.all.append(plain) }
    }

    /// Whether a request's path is one of them.
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
