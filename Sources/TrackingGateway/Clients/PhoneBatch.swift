package import TrackingCore

/// What one request of a phone, or of anything else that speaks HTTP, says: records, and what of it is none.
package struct PhoneBatch: Hashable, Sendable {
    /// What is recorded, in the order in which it was sent; a position that goes beside the batch, and the trip under way, last.
    package var records: [PhoneRecord] = []
    /// What was refused. The rest of the batch is taken all the same.
    package var refused: [RefusedPiece] = []

    /// The most records in one request.
    package static let maximumRecords = 10_000

    /// Makes a batch.
    package init(records: [PhoneRecord] = [], refused: [RefusedPiece] = []) {
        self.records = records
        self.refused = refused
    }

    /// Takes in one piece of a request, whatever it turns out to be.
    mutating func add(_ piece: ArraySlice<UInt8>, _ read: (JSONValue) throws(BadPiece) -> [PhoneRecord]) {
        do throws(BadPiece) {
            let value: JSONValue
            do {
                value = try JSONValue(json: piece)
            } catch {
                throw BadPiece(error.message)
            }
            self.records += try read(value)
        } catch {
            self.refused.append(RefusedPiece(reason: error.reason, bytes: piece))
        }
    }
}

/// A record as it was sent, before it has a name in a stream.
package struct PhoneRecord: Hashable, Sendable {
    /// What is recorded.
    package enum Content: Hashable, Sendable {
        /// A fix, without `seq` and stream.
        case point(Location)
        /// Something that happened at a time, and where, if that is known.
        case event(Happening, at: UnixTime, location: Location?)
        /// A version of a trip, whose stream and `seq` mean nothing yet (``PhoneRecord/unnamed``).
        case trip(Trip)
    }

    /// What is recorded.
    package let content: Content
    /// What tells the record from others of its trackable, see ``PhoneDigest``: it comes out the same however often and in
    /// whatever company the record is sent.
    package let digest: [UInt8]

    /// The stream of a trip that has no name yet.
    package static let unnamed = StreamID("-")!  // one byte is a stream id

    /// Makes a point. It is the same as any other with its time and place, unless `discriminator` tells them apart.
    package init(point: Location, discriminator: String = "") {
        self.content = .point(point)
        self.digest = PhoneDigest.of(point: point, discriminator: discriminator)
    }

    /// Makes an event.
    package init(_ happening: Happening, at time: UnixTime, location: Location? = nil) {
        self.content = .event(happening, at: time, location: location)
        self.digest = PhoneDigest.of(happening, at: time, location: location)
    }

    /// Makes a version of a trip.
    package init(trip: Trip) {
        self.content = .trip(trip)
        self.digest = PhoneDigest.of(trip)
    }

    /// When it was, or when the trip was last heard of.
    package var time: UnixTime {
        switch self.content {
        case .point(let location): location.time
        case .event(_, let time, _): time
        case .trip(let trip): trip.end ?? trip.lastLocation?.time ?? trip.start
        }
    }
}

/// A piece of a request that is no record.
package struct RefusedPiece: Hashable, Sendable {
    /// Why; without a coordinate.
    package let reason: String
    /// The piece as it came, at most ``maximumBytes`` of it.
    package let bytes: [UInt8]

    /// The most bytes that are kept of a piece.
    package static let maximumBytes = 4096

    /// Makes one.
    package init(reason: String, bytes: some Collection<UInt8>) {
        self.reason = reason
        self.bytes = Array(bytes.prefix(Self.maximumBytes))
    }
}

/// Why a piece of a request is no record.
struct BadPiece: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
