import TrackingCore

/// Decides for a member of a group of enhancers which trackables it serves. Touches no network and no clock.
///
/// Each trackable belongs to the present member with the greatest weight for it (rendezvous hashing), so a member that
/// joins or leaves moves only its own trackables. All members compute the same weights.
///
/// A member that joins serves no trackable until each other member has announced that it knows the joining one, and so
/// gave up its trackables. A member that takes over trackables of a member that left first reads what that one
/// published.
struct GroupMembership: Sendable {
    /// One connection of a member, in one run of its program.
    private struct Run: Hashable {
        let session: SessionID
        let connection: Int

        /// The text by which other members name this connection.
        var text: String { "\(self.session)/\(self.connection)" }
    }

    private struct Member {
        var run: Run
        /// `true` after the member announced that it counts this enhancer's connection as present.
        var knowsThis: Bool
    }

    private enum Timer: Hashable {
        case lease(ClientID)
        case join(ClientID)
    }

    private let name: ClientID
    private let client: ClientID
    private var run: Run?
    /// The other members that are present.
    private var others: [ClientID: Member] = [:]
    /// The members whose lease ended, with their connections. A retained heartbeat does not make one present again.
    private var expired: [ClientID: Run] = [:]
    private var timers = DeadlineQueue<Timer>()
    /// The members of the group among which the trackables are divided at present. A member that joins is added at
    /// once. A member that left remains until this enhancer has completed the takeover of its trackables. `nil` until
    /// this enhancer has completed a takeover on the present connection; it serves no trackable before.
    private var serving: Set<ClientID>?
    private var takeOvers = 0
    /// The present members at the beginning of the takeover that is under way; `nil` while there is none.
    private var takingOver: Set<ClientID>?

    /// Makes the state of a member without a connection.
    ///
    /// - Parameters:
    ///   - name: The name of the group.
    ///   - client: The client id of this enhancer.
    init(_ name: ClientID, client: ClientID) {
        self.name = name
        self.client = client
    }

    /// The present members in order, this enhancer among them.
    var clients: [ClientID] { self.present.sorted() }

    /// The time at which ``timerFired(now:)`` must be called; `nil` for no such time.
    var nextDeadline: MonotonicTime? { self.timers.next }

    /// `true` while the retained messages of taken-over trackables are being received.
    var isTakingOver: Bool { self.takingOver != nil }

    /// The announcement for this enhancer's liveness.
    var announcement: EnhancerGroup {
        EnhancerGroup(name: self.name, members: self.others.values.map(\.run.text).sorted())
    }

    private var present: Set<ClientID> { Set(self.others.keys).union([self.client]) }

    // MARK: - Trackables

    /// Returns `true` if the trackable belongs to this enhancer by the present members.
    func owns(_ id: TrackableID) -> Bool { self.isFirst(for: id, among: self.others.keys) }

    /// Returns `true` if the trackable belongs to this enhancer, and no takeover has to precede.
    func serves(_ id: TrackableID) -> Bool {
        guard let serving = self.serving else { return false }
        return self.isFirst(for: id, among: serving) && self.owns(id)
    }

    private func isFirst(for id: TrackableID, among clients: some Sequence<ClientID>) -> Bool {
        let own = Self.weight(of: self.client, for: id)
        return clients.allSatisfy { client in
            guard client != self.client else { return true }
            let other = Self.weight(of: client, for: id)
            return other == own ? client < self.client : other < own
        }
    }

    /// Returns the weight of a member for a trackable: FNV-1a of both ids with a zero byte between them, and then the
    /// final mixing of SplitMix64. All versions of the program must compute the same weights.
    static func weight(of client: ClientID, for id: TrackableID) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        client.rawValue.utf8.forEach(add)
        add(0)
        id.rawValue.utf8.forEach(add)
        hash = (hash ^ (hash >> 30)) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ (hash >> 27)) &* 0x94d0_49bb_1331_11eb
        return hash ^ (hash >> 31)
    }

    // MARK: - Connection

    /// Handles that this enhancer connected to the broker. The liveness of each other member follows.
    mutating func connected(_ connection: Int, of session: SessionID) {
        self.disconnected()
        self.run = Run(session: session, connection: connection)
    }

    /// Handles the loss of the connection: this enhancer serves no trackable, and knows no other member.
    mutating func disconnected() {
        self.run = nil
        self.others = [:]
        self.timers = DeadlineQueue()
        (self.serving, self.takingOver) = (nil, nil)
    }

    // MARK: - Members

    /// Handles the liveness of another client; `nil` for a cleared one.
    ///
    /// - Returns: `true` if the present members or their connections changed. The caller then gives up the trackables
    ///   that it does not own, and publishes ``announcement`` afterwards.
    mutating func received(_ liveness: Liveness?, from client: ClientID, isRetained: Bool, now: MonotonicTime) -> Bool {
        guard let own = self.run, client != self.client else { return false }
        guard let liveness else { return self.left(client) }
        let run = Run(session: liveness.session, connection: liveness.connection)
        let known = self.others[client]
        // A late will or heartbeat of an earlier connection has no effect.
        if let known, known.run.session == run.session, run.connection < known.run.connection { return false }
        guard case .online(let lease) = liveness.status, let group = liveness.group, group.name == self.name else {
            let isEarlierSession = liveness.status == .offline && known?.run.session != run.session
            return isEarlierSession ? false : self.left(client)
        }
        if isRetained, self.expired[client] == run { return false }
        guard known != nil || self.others.count + 1 < EnhancerGroup.maximumMembers else { return false }
        self.expired[client] = nil
        self.timers.set(.lease(client), deadline: now.advanced(by: lease))
        let knowsThis = group.members.contains(own.text) || known?.run == run && known?.knowsThis == true
        self.others[client] = Member(run: run, knowsThis: knowsThis)
        self.serving?.insert(client)
        if knowsThis {
            self.timers.remove(.join(client))
        } else if known?.run != run {
            self.timers.set(.join(client), deadline: now.advanced(by: EnhancerConfiguration.joinPatience))
        }
        return known?.run != run
    }

    /// Ends the leases and the waits that are over.
    ///
    /// - Returns: `true` if the present members changed; `false` if not. `nil` if no time was over.
    mutating func timerFired(now: MonotonicTime) -> Bool? {
        let due = self.timers.popExpired(now: now)
        guard !due.isEmpty else { return nil }
        var hasChanged = false
        for timer in due {
            switch timer {
            case .lease(let client):
                self.expired[client] = self.others[client]?.run
                hasChanged = self.left(client) || hasChanged
            case .join(let client): self.others[client]?.knowsThis = true
            }
        }
        return hasChanged
    }

    private mutating func left(_ client: ClientID) -> Bool {
        self.timers.remove(.lease(client))
        self.timers.remove(.join(client))
        guard self.others[client] != nil else { return false }
        // The messages of the member may not be among those that are being received.
        self.takingOver = nil
        return self.others.removeValue(forKey: client) != nil
    }

    // MARK: - Takeover

    /// Begins a takeover if one is due: each present member knows this enhancer, and a member left, or this enhancer
    /// has not served on this connection yet.
    ///
    /// - Returns: The number of the takeover; `nil` if none is due, or if it is under way already.
    mutating func startTakeOver() -> Int? {
        let present = self.present
        guard self.run != nil, self.serving != present, self.takingOver != present,
            self.others.values.allSatisfy(\.knowsThis)
        else { return nil }
        self.takeOvers += 1
        self.takingOver = present
        return self.takeOvers
    }

    /// Completes the takeover with this number: this enhancer serves all trackables that it owns.
    ///
    /// - Returns: `false` for a takeover that a later one replaced, or if a member does not know this enhancer. Another
    ///   takeover then follows.
    mutating func completeTakeOver(_ number: Int) -> Bool {
        guard number == self.takeOvers, self.takingOver != nil else { return false }
        // A member that appeared meanwhile may still serve its trackables.
        guard self.others.values.allSatisfy(\.knowsThis) else {
            self.takingOver = nil
            return false
        }
        self.serving = self.present
        self.takingOver = nil
        return true
    }
}
