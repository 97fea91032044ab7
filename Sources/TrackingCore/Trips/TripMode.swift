/// How one travels: one of the known words, or one's own.
public struct TripMode: Hashable, Sendable, CustomStringConvertible {
    /// The words that other programs know and have pictures for.
    public static let known = [
        "walk", "run", "bicycle", "car", "taxi", "bus", "tram", "train", "metro", "gondola", "monorail", "sleigh",
        "plane",
        "boat", "scooter",
    ]

    /// The word: 1 to 64 bytes without control characters and without characters that turn the direction of text.
    public let rawValue: String

    /// The word.
    public var description: String { self.rawValue }

    /// Makes a mode.
    ///
    /// - Throws: `invalidConfiguration` that says which rule is broken.
    public init(_ rawValue: String) throws(TrackingError) {
        guard (1...64).contains(rawValue.utf8.count) else {
            throw TrackingError(
                .invalidConfiguration,
                "the mode of a trip has 1 to 64 bytes of UTF-8; this one has \(rawValue.utf8.count)")
        }
        guard rawValue.isPlainText else {
            throw TrackingError(
                .invalidConfiguration,
                "the mode of a trip has no control characters and none that turn the direction of text; this one has one"
            )
        }
        self.rawValue = rawValue
    }
}
