package import NIOCore
package import TrackingCore

/// One numbered update about a trackable, such as a new position. It is encoded once as a server-sent event, and the
/// same bytes are written to all live streams that show all of it.
package struct LiveUpdate: Sendable, Hashable {
    /// The kind of a live update, which is also the name of the server-sent event.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case position, state, presence, resolution, trip, event, clock, journey, estimate

        /// `true` if a newer update of this kind makes an older one of the same trackable unnecessary. `false` only for
        /// tracking events, because each of them counts.
        package var isReplaced: Bool { self != .event }

        /// `true` for a journey and an estimate. The data of their events has the message in a member of its own.
        var isOfJourney: Bool { self == .journey || self == .estimate }
    }

    /// The event id of the update. It consists of the run of the gateway, the number of the update and its time.
    package let id: LiveEventID
    /// The trackable that the update is about.
    package let trackable: TrackableID
    /// The kind of the update, such as `position` or `trip`.
    package let kind: Kind
    /// The coordinate of the trackable's newest position after this update, whatever the kind of the update; `nil` if
    /// it is unknown.
    package let place: Coordinate?
    /// The coordinate of the trackable's position before this update. It differs from `place` only if the update is a
    /// new position or clears the position.
    package let placeBefore: Coordinate?
    /// The position of an update of kind `position`, without the earlier points that its message also contains. `nil`
    /// if the update clears the position, and for other kinds.
    package var location: Location? { self.detail?.location }
    /// `true` if the update does not describe the present. A position is late if a newer one was received before, an
    /// event if it happened long before it was received, and a trip if it was received in a batch of records for the
    /// history. A late update never changes the current state.
    package let isLate: Bool
    /// The update as the bytes of a server-sent event.
    package let frame: ByteBuffer
    /// The match of the position with a road; `nil` for a position as its publisher published it, and for other kinds.
    package var enhancement: Enhancement? { self.detail?.enhancement }
    /// The trackable's journey and estimate at an update of one of them or of the resolution in force; `nil` for other
    /// kinds. A share link shows a part of them.
    package var progress: JourneyProgress? {
        get { self.detail?.progress }
        set { self.detail = LiveUpdateDetail(self.location, self.enhancement, newValue) }
    }
    private(set) var detail: LiveUpdateDetail?

    /// Creates an update from its parts.
    package init(
        id: LiveEventID, trackable: TrackableID, kind: Kind, place: Coordinate?, placeBefore: Coordinate?,
        location: Location?, isLate: Bool, frame: ByteBuffer, enhancement: Enhancement? = nil,
        progress: JourneyProgress? = nil
    ) {
        self.id = id
        self.trackable = trackable
        self.kind = kind
        self.place = place
        self.placeBefore = placeBefore
        self.isLate = isLate
        self.frame = frame
        self.detail = LiveUpdateDetail(location, enhancement, progress)
    }

    /// Creates an update of the current state again from the parts that are stored of it.
    init(
        id: LiveEventID, trackable: TrackableID, kind: Kind, place: Coordinate?, payload: [UInt8],
        detail: LiveUpdateDetail?
    ) {
        self.id = id
        self.trackable = trackable
        self.kind = kind
        self.place = place
        self.placeBefore = place
        self.isLate = false
        self.frame = LiveFrame.event(kind, data: payload, as: id)
        self.detail = detail
    }

    /// `true` if the encoded event begins with its event id.
    var hasID: Bool { self.frame.readableBytesView.starts(with: Array("id: ".utf8)) }

    /// The same update, encoded without the event id. A client that receives it does not change the id from which it
    /// resumes.
    var withoutID: LiveUpdate {
        let bytes = self.frame.readableBytesView
        guard self.hasID, let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
            return self
        }
        return LiveUpdate(
            id: self.id, trackable: self.trackable, kind: self.kind, place: self.place, placeBefore: self.placeBefore,
            location: self.location, isLate: self.isLate, frame: ByteBuffer(bytes: bytes[(end + 1)...]),
            enhancement: self.enhancement, progress: self.progress)
    }

    /// Returns the same update with a new event id and without the trackable's previous coordinate. The gateway uses
    /// the result to deliver a position once more after an update that cleared the position.
    func again(as id: LiveEventID) -> LiveUpdate {
        var frame = ByteBuffer(string: "id: \(id)\n")
        frame.writeImmutableBuffer(self.withoutID.frame)
        return LiveUpdate(
            id: id, trackable: self.trackable, kind: self.kind, place: self.place, placeBefore: nil,
            location: self.location, isLate: self.isLate, frame: frame, enhancement: self.enhancement)
    }

    /// The JSON data of the update's server-sent event.
    var payload: [UInt8] {
        let bytes = self.frame.readableBytesView
        // The data is in the last line of the event, and contains no line end.
        let end = bytes.endIndex - 2
        guard let start = bytes[..<end].lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        return Array(bytes[start..<end].dropFirst("\ndata: ".utf8.count))
    }
}

/// The id of an event in a live stream. A client sends it when it reconnects, to resume after this event.
///
/// The id consists of the gateway's run, a number within the run, and a time. If the gateway no longer has the events
/// after this one, it reads the history from that time. Its text is `<epoch>-<number>-<milliseconds>`; the epoch is the
/// run's random id in sixteen hexadecimal digits.
package struct LiveEventID: Hashable, Sendable, CustomStringConvertible {
    /// The random id of the gateway's run, which differs after each start of the program.
    package var epoch: UInt64
    /// The number of the update within the gateway's run, from 1. An id with the number 0 is from before the first
    /// update.
    package var number: UInt64
    /// The time of the update on the gateway's clock. The text of the id has it in whole milliseconds.
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

    /// The event id as text, `<epoch>-<number>-<milliseconds>`.
    package var description: String {
        let digits = String(self.epoch, radix: 16)
        let zeros = String(repeating: "0", count: 16 - digits.count)
        return "\(zeros)\(digits)-\(self.number)-\(UInt64(max(0, self.time.seconds) * 1000))"
    }
}
