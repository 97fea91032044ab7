/// A decoder of a file format of recorded positions, such as GPX or NMEA. The recording arrives in pieces of any size.
/// The decoder has no other inputs than these bytes.
package protocol RecordingDecoder: Sendable {
    /// The reason why the rest of the recording cannot be decoded; `nil` while decoding continues. Events before the
    /// failure were returned.
    var failure: TrackingError? { get }

    /// Appends bytes and returns the events that they complete.
    mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent]

    /// Ends the recording and returns the remaining events.
    mutating func finish() -> [SourceEvent]
}

extension RecordingDecoder {
    /// Always `nil`: a decoder of a format that consists of lines skips an invalid line and continues with the next
    /// one.
    package var failure: TrackingError? { nil }
}
