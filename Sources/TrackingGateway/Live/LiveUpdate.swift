package import NIOCore
package import TrackingCore

/// One numbered update of a trackable for live streams, encoded once for all clients.
package struct LiveUpdate: Sendable, Hashable {
    /// The kind of a live update, which is also the name of the server-sent event.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case position, state, presence, resolution, trip, event, clock

        /// `true` if a newer update of this kind replaces an older one of the same trackable. Tracking events are not
        /// replaced.
        package var isReplaced: Bool { self != .event }
    }

    /// The event id of the update: its number and its time.
    package let id: LiveEventID
    /// The trackable that the update is about.
    package let trackable: TrackableID
    /// The kind of the update.
    package let kind: Kind
    /// The last known coordinate of the trackable; `nil` for none.
    package let place: Coordinate?
    /// The trackable's coordinate before this update; the same as `place` unless this is a new position.
    package let placeBefore: Coordinate?
    /// The position of an update of kind `position`, without the skipped points; `nil` if the position was cleared, and
    /// for other kinds.
    package let location: Location?
    /// `true` if a newer position was delivered before. A late position is part of the history, and never the current
    /// position.
    package let isLate: Bool
    /// The update as the bytes of a server-sent event.
    package let frame: ByteBuffer

    /// `true` if the bytes of the update contain its event id.
    var hasID: Bool { self.frame.readableBytesView.starts(with: Array("id: ".utf8)) }

    /// The same update without the event id in its bytes.
    var withoutID: LiveUpdate {
        let bytes = self.frame.readableBytesView
        guard self.hasID, let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
            return self
        }
        return LiveUpdate(
            id: self.id, trackable: self.trackable, kind: self.kind, place: self.place, placeBefore: self.placeBefore,
            location: self.location, isLate: self.isLate, frame: ByteBuffer(bytes: bytes[(end + 1)...]))
    }

    /// Returns the same update with a new event id and no earlier place, to deliver it again after a clearing.
    func again(as id: LiveEventID) -> LiveUpdate {
        var frame = ByteBuffer(string: "id: \(id)\n")
        frame.writeImmutableBuffer(self.withoutID.frame)
        return LiveUpdate(
            id: id, trackable: self.trackable, kind: self.kind, place: self.place, placeBefore: nil,
            location: self.location, isLate: self.isLate, frame: frame)
    }

    /// The JSON data of the update's server-sent event.
    var payload: [UInt8] {
        let bytes = self.frame.readableBytesView
        // The data is in the last line of the event, and contains no line end.
        let end = bytes.endIndex - 2
        guard let start = bytes[..<end].lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        return Array(bytes[start..<end].dropFirst("\ndata: ".utf8.count))
    }

    /// `true` if the update clears the value of its kind.
    var isCleared: Bool { self.payload == JSONValue.object(["trackable": .text(self.trackable.rawValue)]).json }
}

/// The id of an event in a live stream. It is unique across restarts of the gateway. Its time is the one from which the
/// history is read if the stream cannot resume.
///
/// Its text is `<epoch>-<number>-<milliseconds>`, with the epoch in sixteen hexadecimal digits.
package struct LiveEventID: Hashable, Sendable, CustomStringConvertible {
    /// The random id of the gateway's run.
    package var epoch: UInt64
    /// The number of the update in the gateway's run, from 1; 0 is before all updates.
    package var number: UInt64
    /// The time of the update on the gateway's clock, with millisecond precision.
    package var time: UnixTime

    /// Creates the id of an event in a live stream.
    ///
    /// - Parameters:
    ///   - epoch: The random id of the gateway's run.
    ///   - number: The number of the update in the run, from 1.
    ///   - time: The time of the update.
    package init(epoch: UInt64, number: UInt64, time: UnixTime) {
        self.epoch = epoch
        self.number = number
        self.time = time
    }

    /// Reads the text of an event id; `nil` if it is invalid.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count <= 64, parts.count == 3, let epoch = UInt64(parts[0], radix: 16),
            let number = UInt64(parts[1]), let milliseconds = UInt64(parts[2]),
            milliseconds <= WireLimits.maximumInteger
        else { return nil }
        self.init(epoch: epoch, number: number, time: UnixTime(Double(milliseconds) / 1000))
    }

    /// The event id as text.
    package var description: String {
        let digits = String(self.epoch, radix: 16)
        let zeros = String(repeating: "0", count: 16 - digits.count)
        return "\(zeros)\(digits)-\(self.number)-\(UInt64(max(0, self.time.seconds) * 1000))"
    }
}
