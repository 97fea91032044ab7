import NIOCore
package import TrackingCore
import TrackingRules
package import TrackingSubscriber

/// The current state of every trackable, and the recent updates from which interrupted live streams resume.
package struct LiveHubState: Sendable {
    /// The updates with which a new live stream begins. They depend on the id of the last event that the client
    /// received on an earlier stream.
    package enum Opening: Hashable, Sendable {
        /// The client names no earlier stream. The stream begins with the current state of the trackables, ordered by
        /// event number.
        case snapshot([LiveUpdate])
        /// The client's earlier stream was interrupted. The new stream begins with every update that the client has
        /// missed.
        case resumed([LiveUpdate])
        /// The client's earlier stream was interrupted, and some of the updates that the client has missed are no
        /// longer available.
        ///
        /// The new stream begins with the missed updates that cleared a position (`cleared`), the history since the
        /// time `since`, and the current state. If `isAnew` is `true`, the client's last event came from another run of
        /// the gateway. The client then first discards its earlier data.
        case gap(since: UnixTime, isAnew: Bool, cleared: [LiveUpdate] = [], [LiveUpdate])
    }

    /// The random id of this run of the gateway, which is part of each event id.
    private let epoch: UInt64
    private var number: UInt64 = 0
    private var lastTime = UnixTime(0)
    private var latest: [TrackableID: LatestUpdates] = [:]
    /// The positions that the trackables had when the connection to the broker was lost.
    private var lost: [TrackableID: LiveUpdateDetail] = [:]
    /// For each trackable, the latest update that cleared its position. A client that was interrupted for too long to
    /// resume its live stream receives the clearings that it missed.
    private var clearings: [TrackableID: LiveUpdate] = [:]
    private var ring: UpdateRing
    private let maximumTrackables: Int
    /// The journeys and estimates of the trackables.
    var journeys = KnownJourneys()
    /// The number of trackables in each cell of the map's grid.
    private(set) var counts = CellCounts()
    /// The number of journeys and estimates that were dropped because all of them together are too large.
    var droppedJourneys = 0
    /// For each trackable whose device has a clock that is ahead: the number of seconds ahead that live streams were
    /// last informed about.
    var leads: [TrackableID: Int] = [:]
    /// The trackables for which the gateway has already logged that the device's clock is ahead.
    var reported: Set<TrackableID> = []

    /// Creates a state without any known trackable.
    ///
    /// - Parameters:
    ///   - epoch: The random id of this run of the gateway.
    ///   - count: The largest number of updates that are stored for streams that resume.
    ///   - bytes: The largest number of bytes of the updates that are stored for streams that resume.
    ///   - trackables: The largest number of known trackables. It is twice the number that a subscriber watches at
    ///     once, because the subscriber stops watching trackables that were absent for a day.
    package init(
        epoch: UInt64, count: Int = 16_384, bytes: Int = 32 * 1_024 * 1_024, trackables: Int = 20_000
    ) {
        self.epoch = epoch
        self.maximumTrackables = trackables
        self.ring = UpdateRing(count: count, bytes: bytes)
    }

    /// The trackables whose current state is known. Those with the oldest updates are forgotten when there are too
    /// many.
    package var trackables: Set<TrackableID> { Set(self.latest.keys) }

    /// Returns `true` if the current state of a trackable is known: a message about it, other than an event, was
    /// received, and the trackable was not forgotten since.
    package func knows(_ id: TrackableID) -> Bool { self.latest[id] != nil }

    /// `true` while the gateway's subscriber is connected to the broker.
    package private(set) var isConnected = false

    /// Returns the current state of a trackable; `nil` if it is not known.
    package func known(_ id: TrackableID) -> LiveState.Known? {
        guard let latest = self.latest[id] else { return nil }
        var members: [String: [UInt8]] = [:]
        let cleared = JSONValue.object(["trackable": .text(id.rawValue)]).json
        for (kind, payload) in latest.payloads where kind != .position && !kind.isOfJourney && payload != cleared {
            members[kind.rawValue] = payload
        }
        return LiveState.Known(
            position: latest.location, enhancement: latest.position?.enhancement, members: members,
            progress: self.journeys[id])
    }

    /// The last known position of each trackable that has one.
    package var positions: [TrackableID: Location] { self.latest.compactMapValues(\.location) }

    /// Returns the last known position of each trackable that has one and is not in a set.
    package func positions(except others: Set<TrackableID>) -> [TrackableID: Location] {
        self.latest.filter { !others.contains($0.key) }.compactMapValues(\.location)
    }

    /// The match with a road of each last known position that has one.
    package var enhancements: [TrackableID: Enhancement] {
        self.latest.compactMapValues { $0.position?.enhancement }
    }

    /// The trackables with a known position or a present publisher.
    package var present: Set<TrackableID> {
        Set(self.latest.lazy.filter { $0.value.isPublished || $0.value.position != nil }.map(\.key))
    }

    /// Returns an event id for a heartbeat: the number of the last update, and the given time.
    package func position(at wall: UnixTime) -> LiveEventID {
        LiveEventID(epoch: self.epoch, number: self.number, time: wall)
    }

    /// Handles an event of the subscriber. Changes the state, and returns the update for live streams; `nil` if streams
    /// do not deliver this event.
    package mutating func happened(_ event: SubscriberEvent, at wall: UnixTime) -> LiveUpdate? {
        switch event {
        case .location(let id, let received): return self.moved(id, received, at: wall)
        case .locationCleared(let id): return self.locationCleared(id, at: wall)
        case .state(let id, let state, _):
            self.counts.changed(id, to: state)
            return self.delivered(.state, of: id, JSONValue.object(["state": .text(state.rawValue)]).json, at: wall)
        case .presence(let id, let presence):
            var members: [String: JSONValue] = ["presence": .text(presence.status.rawValue)]
            self.note(presence.status, of: id)
            if let lastSeen = presence.lastSeen { members["lastSeen"] = .number(lastSeen.seconds) }
            members["metadata"] = presence.metadata.map { .text($0) }
            return self.delivered(.presence, of: id, JSONValue.object(members).json, at: wall)
        case .resolution(let id, let resolution):
            return self.delivered(.resolution, of: id, resolution.map(MessageCodec.encode), at: wall)
        case .trip(let id, let trip):
            if trip == nil { self.ring.remove { $0.trackable == id && $0.kind == .trip } }
            return self.delivered(.trip, of: id, trip.map(MessageCodec.encode), at: wall)
        case .tripRecorded(let id, let trip):
            return self.delivered(.trip, of: id, MessageCodec.encode(trip), isLate: true, at: wall)
        case .event(let id, let event):
            let isLate = event.isLate(at: wall)
            return self.delivered(.event, of: id, MessageCodec.encode(event), isLate: isLate, at: wall)
        case .journey(let id, let journey): return self.planned(journey, of: id, at: wall)
        case .estimate(let id, let estimate): return self.estimated(estimate, of: id, at: wall)
        case .connection(let lost):
            // The earlier positions are kept if the connection was lost again before the positions were compared.
            if self.isConnected, lost != nil {
                self.lost.merge(self.latest.compactMapValues(\.position)) { earlier, _ in earlier }
            }
            self.isConnected = lost == nil
            // Streams must not resume across a connection loss: only the history knows the events and erasures
            // meanwhile.
            if self.isConnected { self.ring.forget(through: self.number) }
            return nil
        case .publishedLocation, .positionsKept, .raw, .refused, .enhancedRefused, .publishRefused, .silent,
            .badMessage:
            return nil
        }
    }

    /// Returns the trackables whose position has changed since the connection to the broker was lost, each with the
    /// time of the position that it had at the loss. Then forgets the positions from before the loss. The hub calls
    /// this function once the subscriber is connected again.
    package mutating func takeMoved() -> [TrackableID: UnixTime] {
        defer { self.lost = [:] }
        return self.lost.filter { id, before in self.latest[id]?.location.map { $0 != before.location } ?? false }
            .compactMapValues(\.location?.time)
    }

    /// Returns two updates for a trackable whose earlier records were erased while the gateway was not connected. The
    /// first clears the trackable's position, and the second delivers its last position again. Returns none if the
    /// trackable has no position.
    package mutating func beginAnew(_ id: TrackableID, at wall: UnixTime) -> [LiveUpdate] {
        guard let last = self.latest[id]?.positionUpdate(of: id, epoch: self.epoch), last.location != nil,
            let cleared = self.locationCleared(id, at: wall)
        else { return [] }
        if let place = last.place { self.counts.moved(id, to: place, speed: last.location?.speed) }
        return [cleared, self.keep(last.again(as: self.next(at: wall)))]
    }

    /// Returns the first updates of a new live stream.
    ///
    /// - Parameters:
    ///   - selection: The trackables and positions that the stream shows.
    ///   - last: The id of the last event that the client received on an earlier stream; `nil` for none.
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
        return .resumed(self.shared(missed.flatMap { self.delivered($0, to: selection) }, with: selection))
    }

    /// Returns the updates to deliver to a stream because of a new update: normally the update itself, or none if the
    /// stream does not show it.
    ///
    /// If the update moves the trackable into the stream's geographic area, the trackable's other current state comes
    /// before it, such as its trip.
    package func delivered(_ update: LiveUpdate, to selection: LiveSelection) -> [LiveUpdate] {
        guard selection.wants(update) else { return [] }
        guard selection.isEntered(by: update) else { return [update] }
        let known = self.updates(of: update.trackable).filter {
            $0.kind != .position && $0.id.number < update.id.number && selection.mayDeliver($0)
        }
        return self.shared(known.sorted { $0.id.number < $1.id.number }.map(\.withoutID), with: selection) + [update]
    }

    /// Returns the current state of the trackables that a stream shows, in the order of the event numbers. An
    /// interrupted stream can resume from any of these events.
    func snapshot(_ selection: LiveSelection) -> [LiveUpdate] {
        let ids = selection.named.map { $0.filter { self.latest[$0] != nil } } ?? self.trackables
        let updates = ids.flatMap { id in
            self.isInside(id, selection) ? self.updates(of: id).filter { self.isRetained($0, selection) } : []
        }
        return self.shared(updates.sorted { $0.id.number < $1.id.number }, with: selection)
    }

    private func updates(of id: TrackableID) -> [LiveUpdate] {
        self.latest[id]?.all(of: id, epoch: self.epoch) ?? []
    }

    /// Returns those updates with numbers above `number` that clear the position of a trackable in the stream. The
    /// returned updates have no event ids, so that a client whose stream is interrupted again receives all of them
    /// again.
    private func cleared(after number: UInt64, for selection: LiveSelection) -> [LiveUpdate] {
        self.clearings.values.filter { $0.id.number > number && selection.wants($0) }.map(\.withoutID)
    }

    /// Returns `true` if the current place of a trackable is inside the geographic area of a live stream, or if the
    /// stream has no area.
    private func isInside(_ id: TrackableID, _ selection: LiveSelection) -> Bool {
        guard case .box(let box) = selection.wanted else { return true }
        return self.place(of: id).map(box.contains) ?? false
    }

    /// Returns `true` if a new live stream must begin with this update as a part of the current state of a trackable.
    private func isRetained(_ update: LiveUpdate, _ selection: LiveSelection) -> Bool {
        guard case .box = selection.wanted else { return selection.wants(update) }
        return selection.mayDeliver(update)
    }

    /// The coordinate of the last known position of a trackable; `nil` for none.
    private func place(of id: TrackableID) -> Coordinate? { self.latest[id]?.location?.coordinate }

    /// Remembers if the publisher of a trackable is present. An unknown presence, as during a loss of the connection,
    /// changes nothing.
    private mutating func note(_ status: PublisherPresence.Status, of id: TrackableID) {
        guard status != .unknown else { return }
        self.latest[id, default: LatestUpdates()].isPublished = status == .present
    }

    /// Returns the given time of the gateway's clock; `nil` if the time is so early that the clock was not set. Without
    /// a set clock, the gateway cannot detect wrong clocks of devices.
    private static func judging(_ wall: UnixTime) -> UnixTime? { wall >= ClockTrust.buildFloor ? wall : nil }

    private mutating func moved(
        _ id: TrackableID, _ received: ReceivedUpdate, at wall: UnixTime
    ) -> LiveUpdate? {
        let clock = Self.judging(wall)
        guard LivePosition.fault(of: received.update.location, at: clock) == nil else { return nil }
        var received = received
        received.skipped.removeAll { LivePosition.fault(of: $0, at: clock) != nil }
        let before = self.place(of: id)
        let place = received.isLate ? before : received.update.location.coordinate
        let event = self.next(at: wall)
        guard let frame = LiveFrame.position(received, of: id, as: event) else { return nil }
        if let place, !received.isLate {
            self.counts.moved(id, to: place, speed: received.update.location.speed)
        }
        return self.keep(
            LiveUpdate(
                id: event, trackable: id, kind: .position, place: place, placeBefore: before,
                location: received.update.location, isLate: received.isLate, frame: frame,
                enhancement: received.update.enhancement))
    }

    /// Clears the position of a trackable, and returns the update for live streams; `nil` for an unknown trackable.
    /// Also removes the trackable's earlier positions and events from the updates that interrupted streams can still
    /// receive.
    private mutating func locationCleared(_ id: TrackableID, at wall: UnixTime) -> LiveUpdate? {
        guard self.latest[id] != nil else { return nil }
        self.latest[id]?.remove(.clock)
        self.leads[id] = nil
        self.ring.remove { $0.trackable == id && ($0.kind == .position || $0.kind == .event) }
        let before = self.place(of: id)
        self.counts.cleared(id)
        let event = self.next(at: wall)
        let cleared = LiveUpdate(
            id: event, trackable: id, kind: .position, place: nil, placeBefore: before, location: nil, isLate: false,
            frame: LiveFrame.event(.position, of: id, nil, as: event))
        self.clearings[id] = cleared
        return self.keep(cleared)
    }

    private mutating func delivered(
        _ kind: LiveUpdate.Kind, of id: TrackableID, _ payload: [UInt8]?, isLate: Bool = false, at wall: UnixTime
    ) -> LiveUpdate {
        let event = self.next(at: wall)
        let frame = LiveFrame.event(kind, of: id, payload, extra: isLate ? LiveFrame.late : "", as: event)
        return self.keep(
            LiveUpdate(
                id: event, trackable: id, kind: kind, place: self.place(of: id), placeBefore: self.place(of: id),
                location: nil, isLate: isLate, frame: frame, progress: kind == .resolution ? self.journeys[id] : nil))
    }

    /// Returns the update of a journey or an estimate, and makes it the current state.
    ///
    /// - Parameters:
    ///   - progress: The trackable's journey and estimate after the update.
    ///   - payload: The updated one of them as JSON; `nil` if it was cleared.
    mutating func journeyUpdate(
        _ kind: LiveUpdate.Kind, of id: TrackableID, _ progress: JourneyProgress, _ payload: [UInt8]?, at wall: UnixTime
    ) -> LiveUpdate {
        let event = self.next(at: wall)
        return self.keep(
            LiveUpdate(
                id: event, trackable: id, kind: kind, place: self.place(of: id), placeBefore: self.place(of: id),
                location: nil, isLate: false, frame: LiveFrame.journey(kind, of: id, payload, as: event),
                progress: progress))
    }

    /// Removes the updates of one kind about a trackable from those that interrupted streams can still receive.
    mutating func removeUpdates(_ kind: LiveUpdate.Kind, of id: TrackableID) {
        self.ring.remove { $0.trackable == id && $0.kind == kind }
    }

    /// Returns the update that informs live streams about a device's clock.
    ///
    /// - Parameter lead: The number of seconds by which the clock is ahead; `nil` if it is no longer ahead.
    mutating func clockUpdate(_ lead: Int?, of id: TrackableID, at wall: UnixTime) -> LiveUpdate {
        self.delivered(.clock, of: id, lead.map { JSONValue.object(["ahead": .number(Double($0))]).json }, at: wall)
    }

    /// Returns the id of the next event for live streams; its number follows that of the last update. The time in the
    /// id never decreases, even if the gateway's clock is set back.
    private mutating func next(at wall: UnixTime) -> LiveEventID {
        self.lastTime = max(self.lastTime, wall)
        return LiveEventID(epoch: self.epoch, number: self.number + 1, time: self.lastTime)
    }

    private mutating func keep(_ update: LiveUpdate) -> LiveUpdate {
        self.number = update.id.number
        self.ring.append(update)
        if update.kind.isReplaced, !update.isLate {
            self.latest[update.trackable, default: LatestUpdates()].set(update)
            if self.latest.count > self.maximumTrackables { self.forget() }
        }
        return update
    }

    /// Forgets an eighth of the trackables, those with the oldest updates. Removing many at once keeps the cost of each
    /// update low.
    private mutating func forget() {
        let delivered = self.latest.mapValues(\.number)
        let surplus = self.latest.count - self.maximumTrackables * 7 / 8
        for (id, _) in delivered.sorted(by: { $0.value < $1.value }).prefix(surplus) {
            self.latest[id] = nil
            self.clearings[id] = nil
            self.leads[id] = nil
            self.reported.remove(id)
            self.counts.forget(id)
            self.journeys.forget(id)
        }
    }
}
