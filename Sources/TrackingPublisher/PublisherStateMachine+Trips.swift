import TrackingCore

/// Trips: each change is a record, shown on `trip`, and told as an event.
extension PublisherStateMachine {
    /// The user begins or ends a trip.
    mutating func trip(
        _ id: TrackableID, _ mode: TripMode?, _ request: UInt64, at moment: Moment
    ) -> [Action] {
        guard let next = self.assets[id]?.nextName else {
            let error = TrackingError(.invalidName, "'\(id)' is not carried; add it first")
            return [.answered(request: request, .failure(error))]
        }
        // What failed is final: nothing more of it is recorded here.
        if let failure = self.assets[id]?.failure { return [.answered(request: request, .failure(failure))] }
        do throws(TrackingError) {
            let change = try self.assets[id]?.changeTrip(mode, at: moment, next: next)
            let answer = change.map { Action.answered(request: request, .success(.trip($0.trip))) }
            return self.tripChanged(change, of: id, at: moment) + (answer.map { [$0] } ?? [])
        } catch {
            return [.answered(request: request, .failure(error))]
        }
    }

    /// A version of a trip, if there is one, becomes a record, in the transaction of what was written last.
    mutating func tripChanged(
        _ change: TripStateMachine.Change?, of id: TrackableID, at moment: Moment
    ) -> [Action] {
        guard let change, let seq = self.assets[id]?.nextSeq() else { return [] }
        let trip = self.shown(change.trip)
        let record = SpoolRecord(
            seq: seq, time: trip.end ?? moment.wall, kind: .trip, tripID: trip.id, payload: MessageCodec.encode(trip))
        self.assets[id]?.unshownTrip = trip
        if trip.state == .ended { self.assets[id]?.lastTrip = trip }
        var actions = self.append(record, of: id) + self.keepTrip(of: id, at: moment)
        actions.append(.tripChanged(id, trip))
        if let happening = change.happening {
            self.isReleaseDue = true
            actions += self.tell(happening.kind, happening.detail, of: id, at: moment)
        }
        return actions
    }

    /// What a trip needs to go on after a restart is kept with each of its points.
    mutating func keepTrip(of id: TrackableID, at moment: Moment) -> [Action] {
        [.log(id, .keep(Self.tripKey(id), self.assets[id]?.trip.encoded(at: moment)))]
    }

    /// Where the log keeps the trip of a trackable.
    static func tripKey(_ id: TrackableID) -> String { "trip/\(id.topicLevel)" }

    /// Shows the newest version once it is written. It has positions, so it is not shown where those do not go out live.
    mutating func showTrip(of id: TrackableID) -> [Action] {
        guard self.configuration.sendsLive, self.session.isAnnounced, let trip = self.assets[id]?.unshownTrip,
            let asset = self.assets[id],
            asset.isSending, trip.seq <= asset.written || trip.stream != asset.stream
        else { return [] }
        let shown = self.shown(trip)
        self.assets[id]?.unshownTrip = nil
        self.assets[id]?.shownTrip = shown
        return [self.publish(.trip(id), MessageCodec.encode(shown))]
    }

    /// Pauses that begin or end by themselves.
    mutating func captureTimersFired(at moment: Moment) -> [Action] {
        var actions: [Action] = []
        if let capture = self.capture, let deadline = capture.nextDeadline, deadline <= moment.now {
            let happenings = self.capture?.timerFired(now: moment.now) ?? []
            actions += self.tell(happenings, at: moment)
        }
        return actions
    }

    /// The trip of a trackable ends, or is due to be shown, by itself.
    mutating func tripTimerFired(of id: TrackableID, at moment: Moment) -> [Action] {
        guard let deadline = self.assets[id]?.trip.nextDeadline, deadline <= moment.now,
            let next = self.assets[id]?.nextName
        else { return [] }
        let change = self.assets[id]?.trip.timerFired(at: moment, next: next)
        guard self.assets[id]?.failure == nil else { return [] }
        return self.tripChanged(change, of: id, at: moment)
    }

    /// What the deciders of the capture found concerns every trackable.
    mutating func tell(_ happenings: [Happening], at moment: Moment) -> [Action] {
        if !happenings.isEmpty { self.isReleaseDue = true }
        return happenings.flatMap { happening in
            Array(self.assets.keys).flatMap { self.tell(happening.kind, happening.detail, of: $0, at: moment) }
        }
    }
}

extension TrackedAsset {
    /// The user begins a trip, or ends it where `mode` is `nil`.
    fileprivate mutating func changeTrip(
        _ mode: TripMode?, at moment: Moment, next: RecordName
    ) throws(TrackingError) -> TripStateMachine.Change {
        if let mode { return try self.trip.start(mode, at: moment, next: next) }
        return try self.trip.stop(at: moment, next: next)
    }
}
