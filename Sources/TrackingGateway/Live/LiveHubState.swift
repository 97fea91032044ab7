import NIOCore
package import TrackingCore
package import TrackingSubscriber

/// What is known of every trackable now, and what was told of late: what a stream opens with, and what it resumes from.
package struct LiveHubState: Sendable {
    /// What a stream begins with.
    package enum Opening: Hashable, Sendable {
        /// What is known now, in the order in which it was told.
        case snapshot([LiveUpdate])
        /// Everything that was told since it broke off.
        case resumed([LiveUpdate])
        /// More was told than is kept: which positions were `cleared` meanwhile, what the history has since then, and what is known
        /// now. What was told by another life of the gateway is to be forgotten first (`isAnew`): what was cleared meanwhile
        /// nobody tells.
        case gap(since: UnixTime, isAnew: Bool, cleared: [LiveUpdate] = [], [LiveUpdate])
    }

    /// One life of the gateway.
    private let epoch: UInt64
    private var number: UInt64 = 0
    private var lastTime = UnixTime(0)
    private var latest: [TrackableID: [LiveUpdate.Kind: LiveUpdate]] = [:]
    private var places: [TrackableID: Coordinate] = [:]
    /// Where trackables were when the connection was lost.
    private var lost: [TrackableID: Location] = [:]
    /// Of each, the last time that its position was cleared.
    private var clearings: [TrackableID: LiveUpdate] = [:]
    /// Of whom the publisher was there when that was told last.
    private var published: Set<TrackableID> = []
    private var ring: UpdateRing
    private let maximumTrackables: Int
    /// Of each device whose clock is ahead, the lead that was published, in seconds.
    var leads: [TrackableID: Int] = [:]
    /// The trackables whose device's clock was reported.
    var reported: Set<TrackableID> = []

    /// Knows nothing.
    ///
    /// - Parameters:
    ///   - epoch: One life of the gateway; random.
    ///   - count: The most updates that are kept for streams that resume.
    ///   - bytes: The most bytes of them.
    ///   - trackables: The most trackables that something is known of; twice as many as a subscriber watches at once, which lets
    ///     those go that were absent for a day.
    package init(
        epoch: UInt64, count: Int = 16_384, bytes: Int = 32 * 1_024 * 1_024, trackables: Int = 20_000
    ) {
        self.epoch = epoch
        self.maximumTrackables = trackables
        self.ring = UpdateRing(count: count, bytes: bytes)
    }

    /// The trackables that something was heard of.
    package var trackables: Set<TrackableID> { Set(self.latest.keys) }

    /// Whether anything was heard of a trackable.
    package func knows(_ id: TrackableID) -> Bool { self.latest[id] != nil }

    /// Whether the subscriber is connected to the broker.
    package private(set) var isConnected = false

    /// What stands of a trackable; `nil` where nothing was heard of it.
    package func known(_ id: TrackableID) -> LiveState.Known? {
        guard let latest = self.latest[id] else { return nil }
        var members: [String: [UInt8]] = [:]
        for (kind, update) in latest where kind != .position && !update.isCleared {
            members[kind.rawValue] = update.payload
        }
        return LiveState.Known(position: latest[.position]?.location, members: members)
    }

    /// The last position of every trackable that one was heard of.
    package var positions: [TrackableID: Location] { self.latest.compactMapValues { $0[.position]?.location } }

    /// The trackables of which a position is known, or whose publisher is there.
    package var present: Set<TrackableID> { self.published.union(self.positions.keys) }

    /// How far it is.
    package func position(at wall: UnixTime) -> LiveEventID {
        LiveEventID(epoch: self.epoch, number: self.number, time: wall)
    }

    /// What a subscriber told becomes an update; `nil` where it is nothing for those who watch.
    package mutating func happened(_ event: SubscriberEvent, at wall: UnixTime) -> LiveUpdate? {
        switch event {
        case .location(let id, let received): return self.moved(id, received, at: wall)
        case .locationCleared(let id): return self.locationCleared(id, at: wall)
        case .state(let id, let state, _):
            return self.told(.state, of: id, JSONValue.object(["state": .text(state.rawValue)]).json, at: wall)
        case .presence(let id, let presence):
            var members: [String: JSONValue] = ["presence": .text(presence.status.rawValue)]
            self.note(presence.status, of: id)
            if let lastSeen = presence.lastSeen { members["lastSeen"] = .number(lastSeen.seconds) }
            return self.told(.presence, of: id, JSONValue.object(members).json, at: wall)
        case .resolution(let id, let resolution):
            return self.told(.resolution, of: id, resolution.map(MessageCodec.encode), at: wall)
        case .trip(let id, let trip):
            if trip == nil { self.ring.remove { $0.trackable == id && $0.kind == .trip } }
            return self.told(.trip, of: id, trip.map(MessageCodec.encode), at: wall)
        case .tripRecorded(let id, let trip):
            return self.told(.trip, of: id, MessageCodec.encode(trip), isLate: true, at: wall)
        case .event(let id, let event):
            let isLate = event.isLate(at: wall)
            return self.told(.event, of: id, MessageCodec.encode(event), isLate: isLate, at: wall)
        case .connection(let lost):
            // It may be lost again before it was compared what changed.
            if self.isConnected, lost != nil { self.lost.merge(self.positions) { earlier, _ in earlier } }
            self.isConnected = lost == nil
            // What happened meanwhile was told nobody, and what was erased meanwhile is to be told nobody: the history knows.
            if self.isConnected { self.ring.forget(through: self.number) }
            return nil
        case .positionsKept, .raw, .refused, .publishRefused, .unheard, .badMessage:
            return nil
        }
    }

    /// Of whom another position is known than when the connection was lost, and the time of that one; asked once it stands again.
    package mutating func takeMoved() -> [TrackableID: UnixTime] {
        defer { self.lost = [:] }
        return self.lost.filter { id, before in self.latest[id]?[.position]?.location.map { $0 != before } ?? false }
            .mapValues(\.time)
    }

    /// What was known before the last position was erased, which nobody told: what is to be told now.
    package mutating func beginAnew(_ id: TrackableID, at wall: UnixTime) -> [LiveUpdate] {
        guard let last = self.latest[id]?[.position], last.location != nil,
            let cleared = self.locationCleared(id, at: wall)
        else { return [] }
        self.places[id] = last.place
        return [cleared, self.keep(last.again(as: self.next(at: wall)))]
    }

    /// What a new stream is told first.
    ///
    /// - Parameter last: The last event that it has, where it is an old one that broke off.
    package func opening(_ selection: LiveSelection, after last: LiveEventID?) -> Opening {
        guard let last else { return .snapshot(self.snapshot(selection)) }
        guard last.epoch == self.epoch, last.number <= self.number else {
            return .gap(since: last.time, isAnew: true, self.snapshot(selection))
        }
        guard let missed = self.ring.after(last.number) else {
            return .gap(
                since: last.time, isAnew: false, cleared: self.cleared(after: last.number, for: selection),
                self.snapshot(selection))
        }
        return .resumed(missed.flatMap { self.told($0, to: selection) })
    }

    /// What a stream is told when something happens: of what comes into its box also what else is known of it, first and without
    /// ids, so that who resumes goes not back behind it.
    package func told(_ update: LiveUpdate, to selection: LiveSelection) -> [LiveUpdate] {
        guard selection.wants(update) else { return [] }
        guard selection.isEntered(by: update) else { return [update] }
        let known = (self.latest[update.trackable] ?? [:]).values.filter {
            $0.kind != .position && $0.id.number < update.id.number && selection.mayTell($0)
        }
        return known.sorted { $0.id.number < $1.id.number }.map(\.withoutID) + [update]
    }

    /// In the order of their numbers: a stream that breaks off on the way resumes from any of them.
    private func snapshot(_ selection: LiveSelection) -> [LiveUpdate] {
        let ids = selection.named.map { $0.filter { self.latest[$0] != nil } } ?? self.trackables
        return ids.flatMap { id in (self.latest[id] ?? [:]).values.filter { self.stands($0, selection) } }
            .sorted { $0.id.number < $1.id.number }
    }

    /// Without ids: who breaks off before the rest was told is told all of it again.
    private func cleared(after number: UInt64, for selection: LiveSelection) -> [LiveUpdate] {
        self.clearings.values.filter { $0.id.number > number && selection.wants($0) }.map(\.withoutID)
    }

    /// Whether something that stands is told: in a box, by where its trackable is now.
    private func stands(_ update: LiveUpdate, _ selection: LiveSelection) -> Bool {
        guard case .box(let box) = selection.wanted else { return selection.wants(update) }
        guard selection.mayTell(update), let place = self.places[update.trackable] else { return false }
        return box.contains(place)
    }

    /// While this side is not connected, what was known stands.
    private mutating func note(_ status: PublisherPresence.Status, of id: TrackableID) {
        switch status {
        case .present: self.published.insert(id)
        case .absent: self.published.remove(id)
        case .unknown: break
        }
    }

    /// Returns a clock that others are judged by; `nil` while the gateway's own is not set.
    private static func judging(_ wall: UnixTime) -> UnixTime? { wall >= ClockTrust.buildFloor ? wall : nil }

    private mutating func moved(
        _ id: TrackableID, _ received: ReceivedUpdate, at wall: UnixTime
    ) -> LiveUpdate? {
        let clock = Self.judging(wall)
        guard LivePosition.fault(of: received.update.location, at: clock) == nil else { return nil }
        var received = received
        received.skipped.removeAll { LivePosition.fault(of: $0, at: clock) != nil }
        let before = self.places[id]
        let place = received.isLate ? before : received.update.location.coordinate
        let event = self.next(at: wall)
        guard let frame = LiveFrame.position(received, of: id, as: event) else { return nil }
        self.places[id] = place
        return self.keep(
            LiveUpdate(
                id: event, trackable: id, kind: .position, place: place, placeBefore: before,
                location: received.update.location, isLate: received.isLate, frame: frame))
    }

    /// A position that was cleared is told to nobody any more, and neither is where something happened: not to streams that
    /// resume either.
    private mutating func locationCleared(_ id: TrackableID, at wall: UnixTime) -> LiveUpdate? {
        guard self.latest[id] != nil else { return nil }
        self.latest[id]?[.clock] = nil
        self.leads[id] = nil
        self.ring.remove { $0.trackable == id && ($0.kind == .position || $0.kind == .event) }
        let before = self.places.removeValue(forKey: id)
        let event = self.next(at: wall)
        let cleared = LiveUpdate(
            id: event, trackable: id, kind: .position, place: nil, placeBefore: before, location: nil, isLate: false,
            frame: LiveFrame.event(.position, of: id, nil, as: event))
        self.clearings[id] = cleared
        return self.keep(cleared)
    }

    private mutating func told(
        _ kind: LiveUpdate.Kind, of id: TrackableID, _ payload: [UInt8]?, isLate: Bool = false, at wall: UnixTime
    ) -> LiveUpdate {
        let event = self.next(at: wall)
        let frame = LiveFrame.event(kind, of: id, payload, extra: isLate ? LiveFrame.late : "", as: event)
        return self.keep(
            LiveUpdate(
                id: event, trackable: id, kind: kind, place: self.places[id], placeBefore: self.places[id],
                location: nil, isLate: isLate, frame: frame))
    }

    /// Publishes the lead of a device's clock in seconds; `nil` where it is not ahead any more.
    mutating func clockUpdate(_ lead: Int?, of id: TrackableID, at wall: UnixTime) -> LiveUpdate {
        self.told(.clock, of: id, lead.map { JSONValue.object(["ahead": .number(Double($0))]).json }, at: wall)
    }

    /// The time never goes back, whatever the clock does.
    private mutating func next(at wall: UnixTime) -> LiveEventID {
        self.lastTime = max(self.lastTime, wall)
        return LiveEventID(epoch: self.epoch, number: self.number + 1, time: self.lastTime)
    }

    private mutating func keep(_ update: LiveUpdate) -> LiveUpdate {
        self.number = update.id.number
        self.ring.append(update)
        if update.kind.isReplaced, !update.isLate {
            self.latest[update.trackable, default: [:]][update.kind] = update
            if self.latest.count > self.maximumTrackables { self.forget() }
        }
        return update
    }

    /// Lets those go that nothing was told of for longest: an eighth at once, so that each costs a constant share.
    private mutating func forget() {
        let told = self.latest.mapValues { kinds in kinds.values.map(\.id.number).max() ?? 0 }
        let surplus = self.latest.count - self.maximumTrackables * 7 / 8
        for (id, _) in told.sorted(by: { $0.value < $1.value }).prefix(surplus) {
            self.latest[id] = nil
            self.places[id] = nil
            self.clearings[id] = nil
            self.leads[id] = nil
            self.reported.remove(id)
            self.published.remove(id)
        }
    }
}
