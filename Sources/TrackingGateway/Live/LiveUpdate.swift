package import NIOCore
package import TrackingCore

/// One numbered update of a live stream, encoded once for all readers.
package struct LiveUpdate: Sendable, Hashable {
    /// The kind of an update; the name of the server-sent event.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case position, state, presence, resolution, trip, event, clock

        /// `true` if a newer update of the same trackable replaces an older one. Events are not replaced.
        package var isReplaced: Bool { self != .event }
    }

    /// The number and the time of the update.
    package let id: LiveEventID
    /// The trackable.
    package let trackable: TrackableID
    /// The kind of the update.
    package let kind: Kind
    /// The trackable's last known place.
    package let place: Coordinate?
    /// The trackable's place before this update; the same as `place` unless this is a new position.
    package let placeBefore: Coordinate?
    /// A position's fix, without the skipped points; `nil` if the position was cleared, and for other kinds.
    package let location: Location?
    /// `true` if a newer position was published before: this one is history, never the current position.
    package let isLate: Bool
    /// The encoded event.
    package let frame: ByteBuffer

    /// `true` if the frame has the event id.
    var hasID: Bool { self.frame.readableBytesView.starts(with: Array("id: ".utf8)) }

    /// The same update without its id in the frame.
    var withoutID: LiveUpdate {
        let bytes = self.frame.readableBytesView
        guard self.hasID, let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
            return self
        }
        return LiveUpdate(
            id: self.id, trackable: self.trackable, kind: self.kind, place: self.place, placeBefore: self.placeBefore,
            location: self.location, isLate: self.isLate, frame: ByteBuffer(bytes: bytes[(end + 1)...]))
    }

    /// Returns the same update with a new id and no earlier place, to deliver it again after a clearing.
    func again(as id: LiveEventID) -> LiveUpdate {
        var frame = ByteBuffer(string: "id: \(id)\n")
        frame.writeImmutableBuffer(self.withoutID.frame)
        return LiveUpdate(
            id: id, trackable: self.trackable, kind: self.kind, place: self.place, placeBefore: nil,
            location: self.location, isLate: self.isLate, frame: frame)
    }

    /// The data of the event: JSON.
    var payload: [UInt8] {
        let bytes = self.frame.readableBytesView
        // The line of the data is the last one, and JSON has no line ends.
        let end = bytes.endIndex - 2
        guard let start = bytes[..<end].lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        return Array(bytes[start..<end].dropFirst("\ndata: ".utf8.count))
    }

    /// `true` if the update clears the earlier value.
    var isCleared: Bool { self.payload == JSONValue.object(["trackable": .text(self.trackable.rawValue)]).json }
}

/// The id of an event of a live stream. It is unique over restarts of the gateway, and its time is where a search of
/// the history starts.
///
/// The text is `<epoch>-<number>-<milliseconds>`, the epoch in sixteen hexadecimal digits.
package struct LiveEventID: Hashable, Sendable, CustomStringConvertible {
    /// The random id of this run of the gateway.
    package var epoch: UInt64
    /// The number of the update in this run, from 1; 0 is before all updates.
    package var number: UInt64
    /// The time of the update on the gateway's clock, with millisecond precision.
    package var time: UnixTime

    /// Makes an id.
    package init(epoch: UInt64, number: UInt64, time: UnixTime) {
        self.epoch = epoch
        self.number = number
        self.time = time
    }

    /// Reads an id; `nil` if the text is not a valid id.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count <= 64, parts.count == 3, let epoch = UInt64(parts[0], radix: 16),
            let number = UInt64(parts[1]), let milliseconds = UInt64(parts[2]),
            milliseconds <= WireLimits.maximumInteger
        else { return nil }
        self.init(epoch: epoch, number: number, time: UnixTime(Double(milliseconds) / 1000))
    }

    /// The id as text.
    package var description: String {
        let digits = String(self.epoch, radix: 16)
        let zeros = String(repeating: "0", count: 16 - digits.count)
        return "\(zeros)\(digits)-\(self.number)-\(UInt64(max(0, self.time.seconds) * 1000))"
    }
}
