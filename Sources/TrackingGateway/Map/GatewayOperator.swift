public import TrackingCore

/// The operator of a gateway, as the page of a share link shows it.
public struct GatewayOperator: Hashable, Sendable {
    /// The operator's logo: an image that browsers show.
    package struct Logo: Hashable, Sendable {
        /// The bytes of the logo's image.
        package let bytes: [UInt8]
        /// The media type of the logo's image: `image/png` or `image/svg+xml`.
        package let mediaType: String
    }

    /// The operator's name, 1 to 64 bytes; `nil` for none.
    public let name: String?
    /// The operator's logo; `nil` for none.
    package let logo: Logo?

    /// The largest number of bytes in the image of an operator's logo: 262,144.
    public static let maximumLogoBytes = 262_144
    /// The largest number of bytes in the operator's name.
    public static let maximumNameBytes = 64

    /// Creates the description of an operator.
    ///
    /// - Parameters:
    ///   - name: The name, 1 to 64 bytes without control characters and characters that change the direction of text;
    ///     `nil` for none.
    ///   - logo: The bytes of a PNG or SVG image, at most ``maximumLogoBytes``; `nil` for none.
    /// - Throws: `invalidConfiguration` for a name that is not allowed, or bytes that are no such image.
    public init(name: String?, logo: [UInt8]?) throws(TrackingError) {
        if let name { try Self.check(name) }
        self.name = name
        self.logo = try logo.map { (bytes) throws(TrackingError) in try Self.checked(bytes) }
    }

    private static func check(_ name: String) throws(TrackingError) {
        guard (1...self.maximumNameBytes).contains(name.utf8.count), name.isPlainText else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot show the operator's name: it must have 1 to \(self.maximumNameBytes) bytes, without control characters and characters that change the direction of text. Correct --operator-name"
            )
        }
    }

    private static func checked(_ bytes: [UInt8]) throws(TrackingError) -> Logo {
        guard bytes.count <= self.maximumLogoBytes else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot show the operator's logo: the file has more than \(self.maximumLogoBytes) bytes. Give a smaller image with --operator-logo"
            )
        }
        guard let mediaType = self.mediaType(of: bytes) else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot show the operator's logo: the file is neither PNG nor SVG. Give an image of one of these formats with --operator-logo"
            )
        }
        return Logo(bytes: bytes, mediaType: mediaType)
    }

    /// Returns the media type of an image, PNG or SVG, judged by its first bytes; `nil` for another kind of file.
    private static func mediaType(of bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
        let text = String(decoding: bytes.prefix(4096), as: UTF8.self)
        let isMarkup = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }.first == "<"
        return isMarkup && text.contains("<svg") ? "image/svg+xml" : nil
    }
}
