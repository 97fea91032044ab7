/// A decoder of a recorded format that takes the recording in pieces. It is a value without other inputs.
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
    /// `nil`: formats that consist of lines continue after an invalid line.
    package var failure: TrackingError? { nil }
}
