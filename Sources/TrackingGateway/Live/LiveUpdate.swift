package import NIOCore
package import TrackingCore

/// One thing that a live stream tells, numbered, and encoded once for everyone who hears it.
package struct LiveUpdate: Sendable, Hashable {
    /// What it is about; the name of the server-sent event.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case position, state, presence, resolution, trip, event, clock

        /// Whether a newer one of a trackable takes the place of an older one. What happened stays.
        package var isReplaced: Bool { self != .event }
    }

    /// Its number and the moment it was told.
    package let id: LiveEventID
    /// Whom it is about.
    package let trackable: TrackableID
    /// What it is about.
    package let kind: Kind
    /// Where the trackable is, as far as that was told.
    package let place: Coordinate?
    /// Where it was before this; the same as `place` for everything but a new position.
    package let placeBefore: Coordinate?
    /// A position's fix, without what was skipped before it; `nil` where it was cleared, and for everything else.
    package let location: Location?
    /// Whether a newer position was told before: it is history, never the current position.
    package let isLate: Bool
    /// The whole event, as it goes out.
    package let frame: ByteBuffer

    /// Whether it is told with its id.
    var hasID: Bool { self.frame.readableBytesView.starts(with: Array("id: ".utf8)) }

    /// The same, to be told without its id.
    var withoutID: LiveUpdate {
        let bytes = self.frame.readableBytesView
        guard self.hasID, let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
            return self
        }
        return LiveUpdate(
            id: self.id, trackable: self.trackable, kind: self.kind, place: self.place, placeBefore: self.placeBefore,
            location: self.location, isLate: self.isLate, frame: ByteBuffer(bytes: bytes[(end + 1)...]))
    }

    /// The same, told once more; by then it is nowhere else.
    func again(as id: LiveEventID) -> LiveUpdate {
        var frame = ByteBuffer(string: "id: \(id)\n")
        frame.writeImmutableBuffer(self.withoutID.frame)
        return LiveUpdate(
            id: id, trackable: self.trackable, kind: self.kind, place: self.place, placeBefore: nil,
            location: self.location, isLate: self.isLate, frame: frame)
    }

    /// Its data alone: JSON.
    var payload: [UInt8] {
        let bytes = self.frame.readableBytesView
        // The line of the data is the last one, and JSON has no line ends.
        let end = bytes.endIndex - 2
        guard let start = bytes[..<end].lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        return Array(bytes[start..<end].dropFirst("\ndata: ".utf8.count))
    }

    /// Whether it tells that what was told before is not known any more.
    var isCleared: Bool { self.payload == JSONValue.object(["trackable": .text(self.trackable.rawValue)]).json }
}

/// The id of an event of a live stream: unique over restarts of the gateway, and it tells since when to look in the history.
///
/// As text `<epoch>-<number>-<milliseconds>`, the epoch in sixteen hexadecimal digits.
package struct LiveEventID: Hashable, Sendable, CustomStringConvertible {
    /// One life of the gateway; random.
    package var epoch: UInt64
    /// Counts what this gateway told, from 1; 0 is before all of it.
    package var number: UInt64
    /// When it was told, on the gateway's clock, to the millisecond.
    package var time: UnixTime

    /// Makes an id.
    package init(epoch: UInt64, number: UInt64, time: UnixTime) {
        self.epoch = epoch
        self.number = number
        self.time = time
    }

    /// Reads an id; `nil` when it is none of ours.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count <= 64, parts.count == 3, let epoch = UInt64(parts[0], radix: 16),
            let number = UInt64(parts[1]), let milliseconds = UInt64(parts[2]),
            milliseconds <= WireLimits.maximumInteger
        else { return nil }
        self.init(epoch: epoch, number: number, time: UnixTime(Double(milliseconds) / 1000))
    }

    /// As text.
    package var description: String {
        let digits = String(self.epoch, radix: 16)
        let zeros = String(repeating: "0", count: 16 - digits.count)
        return "\(zeros)\(digits)-\(self.number)-\(UInt64(max(0, self.time.seconds) * 1000))"
    }
}
