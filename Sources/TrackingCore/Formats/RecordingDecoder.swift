/// Reads a recorded format, piece by piece. A value: what it is given is all that it knows.
package protocol RecordingDecoder: Sendable {
    /// Why the rest cannot be made sense of, once that is so; what came before was given.
    var failure: TrackingError? { get }

    /// Takes in the next bytes and gives what they complete.
    mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent]

    /// Gives what was incomplete when the recording ended.
    mutating func finish() -> [SourceEvent]
}

extension RecordingDecoder {
    /// Formats made of lines go on after a bad one.
    package var failure: TrackingError? { nil }
}
