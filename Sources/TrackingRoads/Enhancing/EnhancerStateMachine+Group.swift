import TrackingCore

/// The group of an enhancer: members that join and leave, and the takeover of their trackables
/// (docs/reference/protocol.md, "Groups of enhancers").
extension EnhancerStateMachine {
    /// Returns `true` if this enhancer publishes the positions of the trackable on the road now.
    func serves(_ id: TrackableID) -> Bool {
        self.configuration.includes(id) && (self.membership?.serves(id) ?? true)
    }

    /// Returns `true` if this enhancer serves the trackable, or is going to after the takeover that is under way.
    func owns(_ id: TrackableID) -> Bool {
        self.configuration.includes(id) && (self.membership?.owns(id) ?? true)
    }

    // MARK: - Members

    /// Handles a liveness message of another client, which may be a member of the group.
    mutating func received(
        liveness message: IncomingMessage, of client: ClientID, _ now: MonotonicTime
    ) throws(TrackingError) -> [Action] {
        guard self.membership != nil else { return [] }
        let liveness = message.payload.isEmpty ? nil : try MessageCodec.decodeLiveness(message.payload)
        let isRetained = message.isRetained
        let hasChanged = self.membership?.received(liveness, from: client, isRetained: isRetained, now: now) ?? false
        return hasChanged ? self.membersChanged() : self.takeOver()
    }

    /// Handles that the enhancer announced itself on a connection.
    mutating func joinedGroup() -> [Action] {
        // Another member may have published in place of the cleared messages meanwhile.
        for topic in Array(self.member.uncleared) where topic.trackable.map({ !self.owns($0) }) ?? false {
            self.member.abandonClearing(of: topic)
        }
        return self.reportMembers() + Self.sending(self.member.clearAgain()) + self.takeOver()
    }

    /// Handles the loss of the connection: the other members take over the trackables of this one.
    mutating func leaveGroup() {
        guard self.membership != nil else { return }
        self.membership?.disconnected()
        for id in self.fleet.ids { self.forget(id) }
        self.unpublished = []
        self.journeys.keepOnly { _ in false }
    }

    mutating func groupTimerFired(now: MonotonicTime) -> [Action] {
        guard let hasChanged = self.membership?.timerFired(now: now) else { return [] }
        return hasChanged ? self.membersChanged() : self.takeOver()
    }

    /// Gives the trackables of a joined member up, and announces afterwards that the member is known. The joined member
    /// publishes only after this announcement, so that its updates follow those of this enhancer.
    private mutating func membersChanged() -> [Action] {
        guard let membership = self.membership else { return [] }
        var actions: [Action] = []
        for id in self.fleet.ids where !membership.owns(id) {
            actions += self.drop(id)
            self.unpublished.remove(id)
        }
        self.journeys.keepOnly { membership.owns($0) }
        guard self.member.session.isAnnounced, !self.isStopping else { return actions }
        self.member.group = membership.announcement
        return actions + Self.sending(self.member.publishLiveness()) + self.reportMembers() + self.takeOver()
    }

    private func reportMembers() -> [Action] {
        self.membership.map { [.deliver(.groupChanged($0.clients))] } ?? []
    }

    // MARK: - Takeover

    /// Begins the takeover of trackables if it is due. Subscribes again to the topics of which the broker retains the
    /// work of the previous enhancer: positions on the road, journeys and estimates.
    mutating func takeOver() -> [Action] {
        // Without the liveness of the other members, this enhancer would serve their trackables too.
        guard self.member.session.isAnnounced, !self.isStopping, self.refusals[.everyLiveness] == nil,
            let number = self.membership?.startTakeOver()
        else { return [] }
        self.journeys.disconnected()
        return self.subscribe(self.configuration.enhancedFilters + self.configuration.journeyFilters)
            + [.send([self.member.subscribe([self.member.ownLiveness], .takeOver(number))])]
    }

    /// Handles a retained update of the enhancer that served the trackable before. Later fixes continue from it.
    mutating func received(
        enhanced payload: ArraySlice<UInt8>, of id: TrackableID, now: MonotonicTime
    ) throws(TrackingError) -> [Action] {
        // Of several updates, such as those of an earlier takeover, the newest one counts.
        guard self.membership?.isTakingOver == true, !self.serves(id), !payload.isEmpty else { return [] }
        let update = try LocationCodec.decode(payload)
        let actions = self.fleet.contains(id) ? [] : self.makeRoom()
        self.fleet.saw(id, now: now)
        self.fleet.change(id) { $0.resume(after: update) }
        return actions
    }

    /// Handles that the retained messages of a takeover were received. Subscribes again to the positions, so that the
    /// broker sends the newest one of each taken-over trackable.
    mutating func tookOver(_ number: Int, at moment: Moment) -> [Action] {
        guard self.membership?.completeTakeOver(number) == true else { return [] }
        // A refused filter would be tried again, although it is needed only during a takeover.
        for filter in self.configuration.enhancedFilters { self.refusals.remove(filter) }
        let fleet = self.fleet
        let estimates = self.journeys.settled(at: moment) { fleet[$0]?.lastPublished?.location }
        return [.send([self.member.unsubscribe(self.configuration.enhancedFilters)])]
            + self.subscribe(self.configuration.positionFilters) + self.perform(estimates)
    }
}
