package import TrackingCore

/// The paths that accept Overland's batches: `/overland`, and the paths that an operator adds.
package struct OverlandPaths: Hashable, Sendable {
    /// The distinct paths, without empty parts, which the router ignores too.
    package private(set) var all = ["/overland"]

    /// The first parts of the gateway's own paths.
    private static let taken: Set<Substring> = [
        "healthz", "leaflet", "map", "metrics", "owntracks", "points", "readyz", "s", "session", "tiles",
    ]
    /// The parts after `/api/v1` in the gateway's own paths.
    private static let takenOfAPI: Set<Substring> = [
        "fences", "live", "openapi.json", "positions", "quarantine", "rules", "trackables",
    ]

    /// Makes the paths with `/overland` alone.
    package init() {}

    /// Adds a path, unless it is present.
    ///
    /// - Throws: `invalidConfiguration` if the path is not plain, or belongs to the gateway.
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

    /// Returns `true` if the path of a request is one of these paths.
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
