/// Decides which other members (publishers and subscribers) are present on each trackable.
///
/// A client announces itself on a trackable with a retained presence message. It also sends heartbeats, each valid for
/// a time, the lease. A member is present while its presence message is retained and its client has a valid heartbeat.
/// Both must be of the same session, one run of a program (docs/reference/protocol.md, "Members and leases"). A
/// presence message that the client has just sent counts as a heartbeat. A subscriber that goes offline remains present
/// for the ``grace``. A client whose will has a time for which it remains present (``Liveness/remainsPresentFor``)
/// remains present for that time instead, but not beyond its lease.
///
/// The caller passes only messages of other clients, never those of its own client id.
package struct PresenceStateMachine: Sendable {
    /// A consequence of a message or of a time that has passed: a subscription for the caller to make or end, or a
    /// change of the present members.
    package enum Change: Hashable, Sendable {
        /// The caller must subscribe to the liveness of this client, the message that shows if it is online.
        case watch(ClientID)
        /// The caller must unsubscribe from the liveness of this client, the message that shows if it is online.
        case unwatch(ClientID)
        /// A member (publisher or subscriber) that was absent is now present on its trackable.
        case arrived(Member)
        /// A member that is present has published a changed presence message during the same run of its program.
        case changed(Member)
        /// A member (publisher or subscriber) that was present on its trackable is no longer present.
        case left(Member)
        /// A presence message of this client was ignored, because the maximum number of presence messages is stored
        /// already.
        case full(ClientID)
    }

    /// The time for which a subscriber still counts as present after its connection was lost without a farewell: 2 s.
    /// So a short loss of the connection is not reported.
    package static let grace: Duration = .seconds(2)

    /// The maximum number of stored presence messages of a client that names none: 50,000.
    package static let defaultLimit = 50_000

    /// The maximum number of sessions (runs of a program) of one client that may count as present on one trackable: the
    /// current one, and earlier ones during ``grace``.
    static let maximumSessions = 4

    private struct Key: Hashable, Sendable {
        var trackable: TrackableID
        var kind: MemberKind
        var client: ClientID

        var name: Name { Name(kind: self.kind, client: self.client) }
        var place: Place { Place(trackable: self.trackable, kind: self.kind) }
    }

    /// The part of a ``Key`` that distinguishes the members of one trackable.
    private struct Name: Hashable, Sendable {
        var kind: MemberKind
        var client: ClientID
    }

    /// The part of a ``Key`` that distinguishes the presence messages of one client.
    private struct Place: Hashable, Sendable {
        var trackable: TrackableID
        var kind: MemberKind
    }

    private struct Run: Hashable, Sendable {
        var session: SessionID
        var connection: Int
    }

    private struct Client: Sendable {
        /// The session and connection with which the client is online, and the time for which its heartbeat is valid
        /// (the lease); `nil` when the client is offline or unknown.
        var online: (run: Run, lease: Duration)?
        /// The session and connection named in a retained heartbeat that is no longer accepted, because it was used
        /// once or has expired. Only a new heartbeat, sent live, shows again that the client is online. `nil` for none.
        var usedUp: Run?
        /// The time at which the client last published a presence or a heartbeat that was not the broker's retained
        /// copy; `nil` before the first one.
        var lastSign: MonotonicTime?
        /// The time until which the client still counts as online after its will arrived, with the will's session and
        /// connection; `nil` for no such time.
        var remains: (run: Run, until: MonotonicTime)?
        /// The trackables and roles of the client's stored presence messages.
        var places: Set<Place> = []
    }

    /// A stored presence message.
    private struct Announced: Sendable {
        var presence: Boxed<Presence>
        /// The sessions (runs of the member's program) that count as present: reported as arrived, and not yet reported
        /// as left.
        var present = SmallDictionary<SessionID, Boxed<Presence>>()
    }

    /// The members of one trackable.
    private struct Attendants: Sendable {
        var members = SmallDictionary<Name, Announced>()
        var publishers = OwnerQueue()
    }

    private struct Ghost: Hashable, Sendable {
        var key: Key
        var session: SessionID
    }

    private enum Timer: Hashable, Sendable {
        case lease(ClientID)
        case confirmation(Key)
        case grace(Ghost)
    }

    /// The maximum number of presence messages that are stored. Further ones are ignored, so that foreign clients cannot
    /// fill the memory.
    package let limit: Int
    private var isConnected = false
    private var clients: [ClientID: Client] = [:]
    /// The members of each trackable that has a stored presence message.
    private var attendants: [TrackableID: Boxed<Attendants>] = [:]
    /// The number of stored presence messages.
    private var count = 0
    private var timers = DeadlineQueue<Timer>()

    /// Makes a machine that decides which publishers and subscribers are present on trackables. It knows none of them
    /// yet.
    ///
    /// - Parameter limit: The value of ``limit``.
    package init(limit: Int = Self.defaultLimit) {
        self.limit = limit
    }

    /// The time at which the caller must call ``timerFired(now:)``: a heartbeat expires, the grace of an offline
    /// subscriber ends, or a presence message was not received again after a reconnection. `nil` when none of these is
    /// due.
    package var nextDeadline: MonotonicTime? { self.timers.next }

    /// Returns the publishers or the subscribers that are present on a trackable.
    package func members(of kind: MemberKind, on trackable: TrackableID) -> [Member] {
        self.announced(on: trackable).filter { $0.key.kind == kind }.flatMap { name, announced in
            announced.present.entries.map { Member(trackable: trackable, client: name.client, shared: $0.value) }
        }
    }

    /// Returns the owner of a trackable: the present publisher with the greatest ``PublisherClaim``; `nil` when no
    /// publisher is present.
    package func owner(of trackable: TrackableID) -> Member? {
        self.attendants[trackable]?.wrappedValue.publishers.owner
    }

    /// Returns the retained presence messages of all publishers of a trackable, also of those that are not present
    /// (online) now.
    package func standingPublishers(on trackable: TrackableID) -> [Presence] {
        self.announced(on: trackable).filter { $0.key.kind == .publisher }.map(\.value.presence.wrappedValue)
    }

    /// A publisher with a retained presence message, present or not.
    package struct KnownMember: Hashable, Sendable {
        /// The client id of the publisher.
        package let client: ClientID
        /// The content of the publisher's presence message.
        package let presence: Presence
        /// `true` if the publisher is present (online).
        package let isPresent: Bool
        /// The time of the publisher's last live presence or heartbeat; `nil` for none.
        package let lastSign: MonotonicTime?
    }

    /// Returns the publishers with a retained presence message on a trackable, also those that are not present (online)
    /// now, in no particular order.
    package func knownPublishers(on trackable: TrackableID) -> [KnownMember] {
        self.announced(on: trackable).filter { $0.key.kind == .publisher }.map { name, announced in
            let presence = announced.presence.wrappedValue
            return KnownMember(
                client: name.client, presence: presence, isPresent: announced.present[presence.session] != nil,
                lastSign: self.clients[name.client]?.lastSign)
        }
    }

    /// Returns the trackables on which this client has a retained presence message, even if the client is offline.
    package func trackables(of client: ClientID) -> Set<TrackableID> {
        Set((self.clients[client]?.places ?? []).map(\.trackable))
    }

    /// Handles that this program was connected to the broker. Each present member remains present for one more lease,
    /// the time for which a heartbeat is valid. Its heartbeat and its presence message must arrive again within that
    /// time. Otherwise it counts as offline, and its presence message as cleared.
    package mutating func connected(now: MonotonicTime) {
        self.isConnected = true
        for (id, client) in self.clients {
            guard let online = client.online else { continue }
            let end = client.remains.flatMap { $0.run == online.run ? $0.until : nil }
            let lease = now.advanced(by: online.lease)
            self.timers.set(.lease(id), deadline: MonotonicTime.earlier(lease, end) ?? lease)
        }
        for trackable in self.attendants.keys {
            for (name, announced) in self.announced(on: trackable) {
                let key = Key(trackable: trackable, kind: name.kind, client: name.client)
                let lease = announced.presence.wrappedValue.lease
                self.timers.set(.confirmation(key), deadline: now.advanced(by: lease))
            }
        }
    }

    /// Handles that this program lost its connection to the broker. Until the next connection, heartbeats do not
    /// expire, and the present members remain unchanged.
    package mutating func disconnected() {
        self.isConnected = false
        self.timers = DeadlineQueue()
    }

    /// Processes a presence message, with which another client announces itself on a trackable.
    ///
    /// - Parameters:
    ///   - presence: The presence message; `nil` when the retained message was cleared.
    ///   - kind: The role of the client: publisher or subscriber.
    ///   - trackable: The trackable on which the client announces itself.
    ///   - client: The client that sent the message.
    ///   - isRetained: `true` for a retained message, `false` for one that the client has just sent.
    ///   - now: The present time.
    package mutating func received(
        _ presence: Presence?, kind: MemberKind, on trackable: TrackableID, from client: ClientID, isRetained: Bool,
        now: MonotonicTime
    ) -> [Change] {
        let key = Key(trackable: trackable, kind: kind, client: client)
        guard let presence else { return self.cleared(key) }
        guard self.announced(key) != nil || self.count < self.limit else { return [.full(client)] }
        var changes: [Change] = self.clients[client] == nil ? [.watch(client)] : []
        self.store(presence, key)
        self.timers.remove(.confirmation(key))
        self.clients[client, default: Client()].places.insert(key.place)
        let before = self.clients[client]?.online?.run.session
        if !isRetained {
            self.believe(Run(session: presence.session, connection: presence.connection), presence.lease, client, now)
        }
        let online = self.clients[client]?.online?.run.session
        // A client may be on thousands of trackables.
        changes += online == before ? self.review(key, online: online, now: now) : self.review(client, now: now)
        return changes
    }

    /// Processes a liveness message (heartbeat), which shows if another client is online.
    ///
    /// - Parameters:
    ///   - liveness: The liveness message; `nil` when the retained message was cleared, which means offline.
    ///   - client: The client that sent the message.
    ///   - isRetained: `true` for a retained message, `false` for one that the client has just sent.
    ///   - now: The present time.
    package mutating func received(
        _ liveness: Liveness?, from client: ClientID, isRetained: Bool, now: MonotonicTime
    ) -> [Change] {
        guard let known = self.clients[client] else { return [] }
        guard let liveness else {
            self.clients[client]?.online = nil
            return self.review(client, now: now)
        }
        let run = Run(session: liveness.session, connection: liveness.connection)
        switch liveness.status {
        case .online(let lease):
            if isRetained {
                guard known.usedUp != run, known.online?.run != run else { return [] }
                self.clients[client]?.usedUp = run
            }
            self.believe(run, lease, client, now, isRetained: isRetained)
            guard self.clients[client]?.online?.run.session != known.online?.run.session else { return [] }
        case .offline:
            // A late will never beats a fast reconnect.
            guard let online = known.online, online.run.session == run.session,
                run.connection >= online.run.connection
            else { return [] }
            if let time = liveness.remainsPresentFor, self.isConnected {
                // The broker's copy of the same will, after a reconnection, does not start the time again.
                let known = known.remains.flatMap { $0.run == run ? $0.until : nil }
                let end = known ?? now.advanced(by: time)
                self.clients[client]?.remains = (run, end)
                let leaseEnd = self.timers.deadline(of: .lease(client))
                self.timers.set(.lease(client), deadline: MonotonicTime.earlier(leaseEnd, end) ?? end)
                return []
            }
            self.clients[client]?.online = nil
        }
        return self.review(client, now: now)
    }

    /// Ends the heartbeats, the graces of offline subscribers, and the waits for presence messages after a
    /// reconnection, that are over at `now`. Returns the members that left, and the clients whose liveness is no longer
    /// needed. The call has no effect before ``nextDeadline``.
    package mutating func timerFired(now: MonotonicTime) -> [Change] {
        guard self.isConnected else { return [] }
        var changes: [Change] = []
        for timer in self.timers.popExpired(now: now) {
            switch timer {
            case .lease(let client):
                // From now on only a live heartbeat makes this run present again, so that a run whose lease ended stays
                // absent.
                let run = self.clients[client]?.online?.run
                self.clients[client]?.usedUp = run
                self.clients[client]?.online = nil
                changes += self.review(client, now: now, isAtOnce: true)
            case .confirmation(let key):
                changes += self.cleared(key)
            case .grace(let ghost):
                changes += self.bury(ghost)
            }
        }
        return changes
    }

    /// Removes all members of a trackable from memory, without reporting them as left.
    ///
    /// - Returns: The subscriptions to clients' liveness messages that are no longer needed.
    package mutating func forget(_ trackable: TrackableID) -> [Change] {
        var changes: [Change] = []
        for (name, _) in self.announced(on: trackable) {
            changes += self.cleared(Key(trackable: trackable, kind: name.kind, client: name.client))
        }
        return changes.filter { if case .unwatch = $0 { true } else { false } }
    }

    // MARK: - Stored presence messages

    private func announced(_ key: Key) -> Announced? {
        self.attendants[key.trackable]?.wrappedValue.members[key.name]
    }

    private func announced(on trackable: TrackableID) -> [(key: Name, value: Announced)] {
        self.attendants[trackable]?.wrappedValue.members.entries ?? []
    }

    private mutating func store(_ presence: Presence, _ key: Key) {
        if self.announced(key) == nil { self.count += 1 }
        let presence = Boxed(wrappedValue: presence)
        self.attendants[key.trackable, default: Boxed(wrappedValue: Attendants())].wrappedValue.members.change(key.name)
        {
            if $0 == nil { $0 = Announced(presence: presence) } else { $0?.presence = presence }
        }
    }

    /// Marks a session as present with a presence message, or as no longer present (`nil`).
    private mutating func setPresent(_ presence: Boxed<Presence>?, _ ghost: Ghost) {
        let key = ghost.key
        self.attendants[key.trackable]?.wrappedValue.members.change(key.name) { $0?.present[ghost.session] = presence }
    }

    // MARK: - Steps

    /// Marks a client as online from now on, in the given session and connection, because it has sent a message. Does
    /// nothing if a later connection of the same session is already known.
    private mutating func believe(
        _ run: Run, _ lease: Duration, _ id: ClientID, _ now: MonotonicTime, isRetained: Bool = false
    ) {
        if let online = self.clients[id]?.online, online.run.session == run.session,
            run.connection < online.run.connection
        {
            return
        }
        self.clients[id]?.online = (run, lease)
        if !isRetained {
            self.clients[id]?.usedUp = nil
            self.clients[id]?.lastSign = now
            self.clients[id]?.remains = nil
        }
        if self.isConnected { self.timers.set(.lease(id), deadline: now.advanced(by: lease)) }
    }

    private mutating func cleared(_ key: Key) -> [Change] {
        self.timers.remove(.confirmation(key))
        guard let announced = self.announced(key) else { return [] }
        var changes: [Change] = []
        for (session, _) in announced.present.entries {
            changes += self.bury(Ghost(key: key, session: session))
        }
        self.count -= 1
        self.attendants[key.trackable]?.wrappedValue.members[key.name] = nil
        if self.attendants[key.trackable]?.wrappedValue.members.isEmpty == true { self.attendants[key.trackable] = nil }
        guard self.clients[key.client]?.places.remove(key.place) != nil else { return changes }
        if self.clients[key.client]?.places.isEmpty == true {
            self.clients[key.client] = nil
            self.timers.remove(.lease(key.client))
            changes.append(.unwatch(key.client))
        }
        return changes
    }

    private mutating func bury(_ ghost: Ghost) -> [Change] {
        self.timers.remove(.grace(ghost))
        guard let presence = self.announced(ghost.key)?.present[ghost.session] else { return [] }
        self.setPresent(nil, ghost)
        let member = Member(trackable: ghost.key.trackable, client: ghost.key.client, shared: presence)
        if ghost.key.kind == .publisher {
            self.attendants[member.trackable]?.wrappedValue.publishers.remove(member)
        }
        return [.left(member)]
    }

    /// Determines on which trackables one client is present now, and compares this with the members that were reported
    /// as arrived. Returns the changes to report: members that arrived, changed or left.
    private mutating func review(_ id: ClientID, now: MonotonicTime, isAtOnce: Bool = false) -> [Change] {
        guard let client = self.clients[id] else { return [] }
        if client.online == nil { self.timers.remove(.lease(id)) }
        return client.places.flatMap {
            let key = Key(trackable: $0.trackable, kind: $0.kind, client: id)
            return self.review(key, online: client.online?.run.session, now: now, isAtOnce: isAtOnce)
        }
    }

    /// Determines if one client is present on one trackable now, and compares this with the members that were reported
    /// as arrived. Returns the changes to report: members that arrived, changed or left.
    private mutating func review(
        _ key: Key, online: SessionID?, now: MonotonicTime, isAtOnce: Bool = false
    ) -> [Change] {
        guard let presence = self.announced(key)?.presence else { return [] }
        let announced = presence.wrappedValue.session
        let isPresent = online == announced
        var changes = isPresent ? self.appeared(key, presence) : []
        let present = self.announced(key)?.present.entries ?? []
        for (session, _) in present where !(isPresent && session == announced) {
            changes += self.vanished(Ghost(key: key, session: session), now: now, isAtOnce: isAtOnce)
        }
        return changes + self.buryExcess(key)
    }

    /// Enforces ``maximumSessions``, the maximum number of sessions (runs of a program) of one client that count as
    /// present on a trackable. Above it, the sessions that went offline first are reported as left at once, although
    /// their grace of 2 s has not ended.
    private mutating func buryExcess(_ key: Key) -> [Change] {
        guard let present = self.announced(key)?.present else { return [] }
        let excess = present.count - Self.maximumSessions
        guard excess > 0 else { return [] }
        let ghosts = present.entries.compactMap { session, _ -> (MonotonicTime, SessionID)? in
            self.timers.deadline(of: .grace(Ghost(key: key, session: session))).map { ($0, session) }
        }
        return ghosts.sorted { $0 < $1 }.prefix(excess).flatMap { self.bury(Ghost(key: key, session: $0.1)) }
    }

    private mutating func appeared(_ key: Key, _ presence: Boxed<Presence>) -> [Change] {
        let ghost = Ghost(key: key, session: presence.wrappedValue.session)
        self.timers.remove(.grace(ghost))
        let member = Member(trackable: key.trackable, client: key.client, shared: presence)
        let before = self.announced(key)?.present[ghost.session]
        self.setPresent(presence, ghost)
        guard before != presence else { return [] }
        if key.kind == .publisher { self.attendants[key.trackable]?.wrappedValue.publishers.set(member) }
        return before == nil ? [.arrived(member)] : [.changed(member)]
    }

    private mutating func vanished(_ ghost: Ghost, now: MonotonicTime, isAtOnce: Bool) -> [Change] {
        guard ghost.key.kind == .subscriber, !isAtOnce else { return self.bury(ghost) }
        if self.timers.deadline(of: .grace(ghost)) == nil {
            self.timers.set(.grace(ghost), deadline: now.advanced(by: Self.grace))
        }
        return []
    }
}
