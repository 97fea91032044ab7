/// A decoder for a file format of recorded positions, such as GPX or NMEA. The file arrives in pieces of any size. The
/// decoded events depend only on the bytes of the file, not on the sizes of the pieces.
package protocol RecordingDecoder: Sendable {
    /// The reason why the rest of the file cannot be decoded; `nil` while decoding continues. What was decoded before
    /// the failure has already been returned.
    var failure: TrackingError? { get }

    /// Appends the next bytes of the recorded file. Returns the events (fixes, invalid inputs and notices) that these
    /// bytes complete.
    mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent]

    /// Ends the file, and returns the remaining events (fixes, invalid inputs and notices).
    mutating func finish() -> [SourceEvent]
}

extension RecordingDecoder {
    /// The reason why the rest of the file cannot be decoded. This default is always `nil`. It is for formats that
    /// consist of lines: their decoders skip an invalid line and continue with the next one.
    package var failure: TrackingError? { nil }
}
