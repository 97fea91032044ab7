import TrackingCore

/// Parses set-up links, which have a common form: a scheme, `://setup?`, and named, percent-encoded values.
enum SetupLink {
    /// The largest number of bytes in a set-up link: 4,096. A longer link is rejected.
    private static let maximumBytes = 4096

    /// Parses the values of a set-up link, by name.
    ///
    /// - Parameters:
    ///   - link: The link.
    ///   - scheme: The scheme that the link must have.
    ///   - form: A clause that describes the expected form of a link. Error messages begin with it.
    ///   - isKnown: A function that returns `true` for a name that the link may contain.
    /// - Throws: `invalidConfiguration` with the reason, without any value of the link.
    static func values(
        of link: String, scheme: String, form: String, isKnown: (String) -> Bool
    ) throws(TrackingError) -> [String: String] {
        let start = "\(scheme)://setup?"
        guard link.utf8.count <= Self.maximumBytes, link.hasPrefix(start) else {
            throw TrackingError(
                .invalidConfiguration, "cannot use the set-up link: \(form), and at most \(Self.maximumBytes) bytes")
        }
        // The text after a '#' would be a fragment of the URL, and missing from the value.
        guard !link.contains("#") else {
            throw TrackingError(
                .invalidConfiguration, "cannot use the set-up link: it contains the character '#'. Write %23 for '#'")
        }
        var values: [String: String] = [:]
        for pair in link.dropFirst(start.count).split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard isKnown(name) else {
                throw TrackingError(
                    .invalidConfiguration, "cannot use the set-up link: '\(name.prefix(40))' is unknown; \(form)")
            }
            guard parts.count == 2, let value = parts[1].percentDecoded else {
                throw TrackingError(
                    .invalidConfiguration,
                    "the value '\(name)' of the set-up link is not percent-encoded text. Ask for a new link")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw TrackingError(
                    .invalidConfiguration, "the set-up link contains '\(name)' twice. Leave one of them out")
            }
        }
        return values
    }
}
