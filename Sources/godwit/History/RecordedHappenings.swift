import TrackingCore
import TrackingPublisher
import TrackingStore

/// The recorded trips and events that a replay publishes, in order of time. The history has only the last version of a
/// trip, so that a replayed trip begins with a version without results and ends with the recorded one.
struct RecordedHappenings {
    private var drafts: ArraySlice<RecordDraft>

    /// Reads the trips and events of a query's trackable and times from the history.
    init(_ query: PointQuery, of store: any HistoryStore) async throws {
        var all: [RecordDraft.Content] = []
        for trip in try await store.allTrips(of: query.trackable, during: query.times) {
            let begins = query.times.from.map { $0 <= trip.start } ?? true
            let ends = query.times.to.map { end in trip.end.map { $0 < end } ?? true } ?? true
            if begins { all.append(.trip(trip.beginning.replayed)) }
            if ends, trip != trip.beginning { all.append(.trip(trip.replayed)) }
        }
        all += try await store.allEvents(of: query.trackable, during: query.times).map { .event($0.replayed) }
        self.drafts = all.map { RecordDraft($0, digest: .random()) }.sorted { $0.time < $1.time }[...]
    }

    /// Removes and returns the next trip or event up to a time; `nil` if there is none.
    mutating func next(until time: UnixTime = UnixTime(.infinity)) -> RecordDraft? {
        guard let next = self.drafts.first, next.time <= time else { return nil }
        return self.drafts.removeFirst()
    }
}

extension Location {
    /// The recorded position as a replay publishes it: without stream and number, with the source `replay`.
    var replayed: Location {
        var location = self
        (location.stream, location.seq, location.source) = (nil, nil, .replay)
        return location
    }
}

extension Trip {
    /// The version of the trip at its beginning, without distance, duration and end.
    fileprivate var beginning: Trip {
        var trip = Trip(id: self.id, mode: self.mode, start: self.start, stream: self.stream, seq: self.seq)
        trip.startLocation = self.startLocation
        return trip
    }

    fileprivate var replayed: Trip {
        var trip = self
        trip.stream = RecordDraft.unnamed
        trip.startLocation = self.startLocation?.replayed
        trip.lastLocation = self.lastLocation?.replayed
        return trip
    }
}

extension TrackingEvent {
    fileprivate var replayed: TrackingEvent {
        var event = self
        event.stream = RecordDraft.unnamed
        event.location = self.location?.replayed
        return event
    }
}

extension RecordDigest {
    /// Returns a random digest, which no other draft has: an event that happened twice is published twice.
    fileprivate static func random() -> RecordDigest {
        RecordDigest((0..<Self.size).map { _ in UInt8.random(in: .min ... .max) })!  // the size is right
    }
}
