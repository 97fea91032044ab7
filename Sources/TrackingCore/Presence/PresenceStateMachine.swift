/// A publisher or subscriber on a trackable, as another member sees it.
package struct Member: Hashable, Sendable {
    /// The trackable of the member.
    package var trackable: TrackableID
    /// The client id of the member.
    package var client: ClientID
    /// The presence that the member has published.
    package var presence: Presence

    /// Makes a member.
    package init(trackable: TrackableID, client: ClientID, presence: Presence) {
        self.trackable = trackable
        self.client = client
        self.presence = presence
    }
}

/// Decides which other members (publishers and subscribers) are present. A member is present on a trackable while its
/// presence message is retained, its client is online, both name the same session, and the lease has not ended
/// (docs/reference/protocol.md, "Members and leases").
///
/// Only messages of other clients are passed to the machine, never those of the own client id.
package struct PresenceStateMachine: Sendable {
    /// An action or a report that follows from a message or a deadline.
    package enum Change: Hashable, Sendable {
        /// Subscribe to the liveness of this client.
        case watch(ClientID)
        /// Unsubscribe from the liveness of this client.
        case unwatch(ClientID)
        /// A member that was absent is now present.
        case arrived(Member)
        /// A present member has published another presence under the same session.
        case changed(Member)
        /// A member that was present is no longer present.
        case left(Member)
        /// The presence of this client was ignored, because the maximum number of presences is reached.
        case full(ClientID)
    }

    /// The time for which a subscriber still counts as present after its connection was lost without a farewell
    /// message: 2 s.
    package static let grace: Duration = .seconds(2)

    /// The maximum number of sessions of one client that are remembered on one trackable: the present session, and
    /// earlier ones that still count during ``grace``.
    static let maximumSessions = 4

    private struct Key: Hashable, Sendable {
        var trackable: TrackableID
        var kind: MemberKind
        var client: ClientID
    }

    private struct Run: Hashable, Sendable {
        var session: SessionID
        var connection: Int
    }

    private struct Client: Sendable {
        /// The run of the client's program that is online, and the lease that its heartbeat gave; `nil` when the client
        /// is offline or unknown.
        var online: (run: Run, lease: Duration)?
        /// The run of the client's program whose retained heartbeat does not count any more, because it was used once
        /// or its lease has ended. Only a new heartbeat that is not retained makes this run present again.
        var usedUp: Run?
        var presences: Set<Key> = []
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

    private let limit: Int
    private var isConnected = false
    private var clients: [ClientID: Client] = [:]
    private var presences: [Key: Presence] = [:]
    /// The keys of ``presences`` by trackable, so that a query about one trackable does not search all of them.
    private var keys: [TrackableID: Set<Key>] = [:]
    /// The members that were reported as arrived and not yet reported as left, by session.
    private var present: [Key: [SessionID: Presence]] = [:]
    private var owners: [TrackableID: OwnerQueue] = [:]
    private var timers = DeadlineQueue<Timer>()

    /// Makes a machine that knows no members.
    ///
    /// - Parameter limit: The maximum number of presences. Further presences are ignored, so that foreign clients
    ///   cannot fill the memory.
    package init(limit: Int = 50_000) {
        self.limit = limit
    }

    /// The time at which ``timerFired(now:)`` is to be called; `nil` when no lease or grace is running.
    package var nextDeadline: MonotonicTime? { self.timers.next }

    /// Returns the publishers or the subscribers that are present on a trackable.
    package func members(of kind: MemberKind, on trackable: TrackableID) -> [Member] {
        self.keys[trackable, default: []].lazy.filter { $0.kind == kind }.flatMap { key in
            (self.present[key] ?? [:]).values.map { Member(trackable: trackable, client: key.client, presence: $0) }
        }
    }

    /// Returns the owner of a trackable: the present publisher with the greatest ``PublisherClaim``; `nil` when no
    /// publisher is present.
    package func owner(of trackable: TrackableID) -> Member? { self.owners[trackable]?.owner }

    /// Returns the retained presence messages of a trackable's publishers, present or absent.
    package func standingPublishers(on trackable: TrackableID) -> [Presence] {
        self.keys[trackable, default: []].filter { $0.kind == .publisher }.compactMap { self.presences[$0] }
    }

    /// Returns the trackables on which this client has a retained presence message, whether the client is present or
    /// not.
    package func trackables(of client: ClientID) -> Set<TrackableID> {
        Set((self.clients[client]?.presences ?? []).map(\.trackable))
    }

    /// Handles that this program's connection was made. Every known member counts as present for one more lease; its
    /// messages must arrive again within that time.
    package mutating func connected(now: MonotonicTime) {
        self.isConnected = true
        for (id, client) in self.clients {
            guard let online = client.online else { continue }
            self.timers.set(.lease(id), deadline: now.advanced(by: online.lease))
        }
        for (key, presence) in self.presences {
            self.timers.set(.confirmation(key), deadline: now.advanced(by: presence.lease))
        }
    }

    /// Handles that this program's connection was lost. Until the next connection no lease ends, and the members remain
    /// unchanged.
    package mutating func disconnected() {
        self.isConnected = false
        self.timers = DeadlineQueue()
    }

    /// Processes a presence message of another client, or with `nil` that the retained presence message was cleared.
    package mutating func received(
        _ presence: Presence?, kind: MemberKind, on trackable: TrackableID, from client: ClientID, isRetained: Bool,
        now: MonotonicTime
    ) -> [Change] {
        let key = Key(trackable: trackable, kind: kind, client: client)
        guard let presence else { return self.cleared(key) }
        guard self.presences[key] != nil || self.presences.count < self.limit else { return [.full(client)] }
        var changes: [Change] = self.clients[client] == nil ? [.watch(client)] : []
        self.presences[key] = presence
        self.keys[trackable, default: []].insert(key)
        self.timers.remove(.confirmation(key))
        self.clients[client, default: Client()].presences.insert(key)
        let before = self.clients[client]?.online?.run.session
        if !isRetained {
            self.believe(Run(session: presence.session, connection: presence.connection), presence.lease, client, now)
        }
        let online = self.clients[client]?.online?.run.session
        // A client may be on thousands of trackables.
        changes += online == before ? self.review(key, online: online, now: now) : self.review(client, now: now)
        return changes
    }

    /// Processes a liveness message (heartbeat) of another client, or with `nil` that it was cleared. A client without
    /// liveness is offline.
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
            self.clients[client]?.online = nil
        }
        return self.review(client, now: now)
    }

    /// Ends the leases and graces that are over at `now`. The call has no effect before ``nextDeadline``.
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

    /// Forgets the members of a trackable without reporting them as left.
    ///
    /// - Returns: The subscriptions to clients' liveness to end.
    package mutating func forget(_ trackable: TrackableID) -> [Change] {
        var changes: [Change] = []
        for key in self.keys[trackable, default: []] {
            changes += self.cleared(key)
        }
        return changes.filter { if case .unwatch = $0 { true } else { false } }
    }

    // MARK: - Steps

    /// Counts the run of a client as online from now on, because its heartbeat arrived, unless a later connection of
    /// the same session is known.
    private mutating func believe(
        _ run: Run, _ lease: Duration, _ id: ClientID, _ now: MonotonicTime, isRetained: Bool = false
    ) {
        if let online = self.clients[id]?.online, online.run.session == run.session,
            run.connection < online.run.connection
        {
            return
        }
        self.clients[id]?.online = (run, lease)
        if !isRetained { self.clients[id]?.usedUp = nil }
        if self.isConnected { self.timers.set(.lease(id), deadline: now.advanced(by: lease)) }
    }

    private mutating func cleared(_ key: Key) -> [Change] {
        self.timers.remove(.confirmation(key))
        self.presences[key] = nil
        self.keys[key.trackable]?.remove(key)
        if self.keys[key.trackable]?.isEmpty == true { self.keys[key.trackable] = nil }
        var changes: [Change] = []
        for session in (self.present[key] ?? [:]).keys {
            changes += self.bury(Ghost(key: key, session: session))
        }
        guard self.clients[key.client]?.presences.remove(key) != nil else { return changes }
        if self.clients[key.client]?.presences.isEmpty == true {
            self.clients[key.client] = nil
            self.timers.remove(.lease(key.client))
            changes.append(.unwatch(key.client))
        }
        return changes
    }

    private mutating func bury(_ ghost: Ghost) -> [Change] {
        self.timers.remove(.grace(ghost))
        guard let presence = self.present[ghost.key]?.removeValue(forKey: ghost.session) else { return [] }
        if self.present[ghost.key]?.isEmpty == true { self.present[ghost.key] = nil }
        let member = Member(trackable: ghost.key.trackable, client: ghost.key.client, presence: presence)
        if ghost.key.kind == .publisher {
            self.owners[member.trackable]?.remove(member)
            if self.owners[member.trackable]?.isEmpty == true { self.owners[member.trackable] = nil }
        }
        return [.left(member)]
    }

    /// Returns the changes for one client on all its trackables: members that are present but not reported as arrived,
    /// and the reverse.
    private mutating func review(_ id: ClientID, now: MonotonicTime, isAtOnce: Bool = false) -> [Change] {
        guard let client = self.clients[id] else { return [] }
        if client.online == nil { self.timers.remove(.lease(id)) }
        return client.presences.flatMap {
            self.review($0, online: client.online?.run.session, now: now, isAtOnce: isAtOnce)
        }
    }

    /// Returns the changes for one client on one trackable: members that are present but not reported as arrived, and
    /// the reverse.
    private mutating func review(
        _ key: Key, online: SessionID?, now: MonotonicTime, isAtOnce: Bool = false
    ) -> [Change] {
        guard let presence = self.presences[key] else { return [] }
        let isPresent = online == presence.session
        var changes = isPresent ? self.appeared(key, presence) : []
        for session in (self.present[key] ?? [:]).keys where !(isPresent && session == presence.session) {
            changes += self.vanished(Ghost(key: key, session: session), now: now, isAtOnce: isAtOnce)
        }
        return changes + self.buryExcess(key)
    }

    /// Reports the sessions that left first as left before their grace ends, when a client has more than
    /// ``maximumSessions`` sessions on a trackable.
    private mutating func buryExcess(_ key: Key) -> [Change] {
        let excess = (self.present[key]?.count ?? 0) - Self.maximumSessions
        guard excess > 0 else { return [] }
        let ghosts = (self.present[key] ?? [:]).keys.compactMap { session -> (MonotonicTime, SessionID)? in
            self.timers.deadline(of: .grace(Ghost(key: key, session: session))).map { ($0, session) }
        }
        return ghosts.sorted { $0 < $1 }.prefix(excess).flatMap { self.bury(Ghost(key: key, session: $0.1)) }
    }

    private mutating func appeared(_ key: Key, _ presence: Presence) -> [Change] {
        self.timers.remove(.grace(Ghost(key: key, session: presence.session)))
        let member = Member(trackable: key.trackable, client: key.client, presence: presence)
        let before = self.present[key, default: [:]].updateValue(presence, forKey: presence.session)
        guard before != presence else { return [] }
        if key.kind == .publisher { self.owners[key.trackable, default: OwnerQueue()].set(member) }
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
