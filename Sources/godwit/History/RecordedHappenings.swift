import TrackingCore
import TrackingPublisher
import TrackingStore

/// The recorded trips and events that a replay publishes again, in order of time.
///
/// The history contains only the last version of each trip. A replayed trip is therefore published twice: first a
/// version at its beginning, without results, and then the recorded version. A version outside of the replayed time
/// span is left out.
struct RecordedHappenings {
    private var drafts: ArraySlice<RecordDraft>

    /// Reads all trips and events of the query's trackable in the query's time span from the history, and prepares them
    /// for the replay.
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

    /// Removes the earliest remaining trip or event and returns it, if its time is `time` or before. Otherwise returns
    /// `nil`, and removes nothing.
    mutating func next(until time: UnixTime = UnixTime(.infinity)) -> RecordDraft? {
        guard let next = self.drafts.first, next.time <= time else { return nil }
        return self.drafts.removeFirst()
    }
}

extension Location {
    /// The recorded position as a replay publishes it: without its stream and number, and with the source `replay`.
    var replayed: Location {
        var location = self
        (location.stream, location.seq, location.source) = (nil, nil, .replay)
        return location
    }
}

extension Trip {
    /// A version of this trip at its beginning, without distance, duration and end.
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
    /// Returns a random digest. A replayed trip or event then never counts as a repetition of another one with the same
    /// content, so both are published.
    fileprivate static func random() -> RecordDigest {
        RecordDigest((0..<Self.size).map { _ in UInt8.random(in: .min ... .max) })!  // the size is right
    }
}
