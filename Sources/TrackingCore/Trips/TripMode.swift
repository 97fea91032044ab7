/// The mode of travel of a trip: one of the known words, or another one.
public struct TripMode: Hashable, Sendable, CustomStringConvertible {
    /// The modes of travel that other programs know and have symbols for.
    public static let known = [
        "walk", "run", "bicycle", "car", "taxi", "bus", "tram", "train", "metro", "gondola", "monorail", "sleigh",
        "plane",
        "boat", "scooter",
    ]

    /// The word for the mode: 1 to 64 bytes without control characters and without characters that change the direction
    /// of text.
    public let rawValue: String

    /// The word for the mode.
    public var description: String { self.rawValue }

    /// Makes a mode from a word.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` that names the violated rule.
    public init(_ rawValue: String) throws(TrackingError) {
        guard (1...64).contains(rawValue.utf8.count) else {
            throw TrackingError(
                .invalidConfiguration,
                "the mode of a trip has 1 to 64 bytes of UTF-8; this one has \(rawValue.utf8.count)")
        }
        guard rawValue.isPlainText else {
            throw TrackingError(
                .invalidConfiguration,
                "the mode of a trip must not contain control characters or characters that change the direction of text"
            )
        }
        self.rawValue = rawValue
    }
}
