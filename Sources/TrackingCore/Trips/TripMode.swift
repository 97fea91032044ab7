/// The mode of travel of a trip, as a word such as `car`. It is one of ``known``, or any other word that the user
/// chose.
public struct TripMode: Hashable, Sendable, CustomStringConvertible {
    /// The common modes of travel. A program that shows trips can have a symbol for each of these words.
    public static let known = [
        "walk", "run", "bicycle", "car", "taxi", "bus", "tram", "train", "metro", "gondola", "monorail", "sleigh",
        "plane",
        "boat", "scooter",
    ]

    /// The word for the mode, such as `car`: 1 to 64 bytes without control characters and without characters that
    /// change the direction of text.
    public let rawValue: String

    /// The mode as text, the same as ``rawValue``.
    public var description: String { self.rawValue }

    /// Makes a mode of travel from a word of 1 to 64 bytes.
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
