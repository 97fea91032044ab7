import TrackingCore

/// The common form of set-up links: a scheme, `://setup?`, and named, percent-encoded values.
enum SetupLink {
    /// The largest number of bytes in a link.
    private static let maximumBytes = 4096

    /// Parses a link's values.
    ///
    /// - Parameters:
    ///   - form: The expected form of a link, for errors.
    ///   - isKnown: Returns `true` for an allowed name.
    /// - Throws: `invalidConfiguration` with the reason, without any value.
    static func values(
        of link: String, scheme: String, form: String, isKnown: (String) -> Bool
    ) throws(TrackingError) -> [String: String] {
        let start = "\(scheme)://setup?"
        guard link.utf8.count <= Self.maximumBytes, link.hasPrefix(start) else {
            throw TrackingError(.invalidConfiguration, "\(form), at most \(Self.maximumBytes) bytes")
        }
        // A fragment would cut off a value, whatever it was meant to belong to.
        guard !link.contains("#") else {
            throw TrackingError(.invalidConfiguration, "a '#' in the link is written %23")
        }
        var values: [String: String] = [:]
        for pair in link.dropFirst(start.count).split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard isKnown(name) else {
                throw TrackingError(.invalidConfiguration, "\(form); it knows no '\(name.prefix(40))'")
            }
            guard parts.count == 2, let value = parts[1].percentDecoded else {
                throw TrackingError(.invalidConfiguration, "the link's \(name) is not percent-encoded text")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw TrackingError(.invalidConfiguration, "the link says \(name) twice")
            }
        }
        return values
    }
}
