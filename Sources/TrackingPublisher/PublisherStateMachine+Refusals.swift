import TrackingCore

/// What is done where the broker refuses something that a trackable goes on without: its commands, its resolution in force.
extension PublisherStateMachine {
    /// What a trackable goes on without.
    enum Lesser: Hashable, Sendable {
        case commands
        case resolution
    }

    /// What the broker refuses of one trackable on this connection.
    struct LesserRefusals: Hashable, Sendable {
        var what: Set<Lesser> = []
        /// How long the next trial is waited for.
        var wait = Duration.milliseconds(500)
    }

    /// The broker answered. What it refuses is tried again, after waits that grow to 15 minutes.
    mutating func answered(_ what: Lesser, of id: TrackableID, isRefused: Bool, at moment: Moment) {
        guard isRefused || self.lesserRefusals[id] != nil, self.assets[id] != nil else { return }
        var refusals = self.lesserRefusals[id] ?? LesserRefusals()
        guard isRefused else {
            refusals.what.remove(what)
            self.lesserRefusals[id] = refusals.what.isEmpty ? nil : refusals
            if refusals.what.isEmpty { self.timers.remove(.lesser(id)) }
            return
        }
        refusals.what.insert(what)
        if self.timers.deadline(of: .lesser(id)) == nil {
            refusals.wait = min(refusals.wait * 2, .seconds(900))
            self.timers.set(.lesser(id), deadline: moment.now.advanced(by: refusals.wait))
        }
        self.lesserRefusals[id] = refusals
    }

    /// Asks for what was refused, or says it, once more.
    mutating func tryLesser(_ id: TrackableID, at moment: Moment) -> [Action] {
        guard self.session.isConnected, let refusals = self.lesserRefusals[id] else { return [] }
        var actions: [Action] = []
        if refusals.what.contains(.commands) { actions += self.listenForCommands(on: [id]) }
        // The answer to one that is on its way decides about the next trial.
        if refusals.what.contains(.resolution), self.assets[id]?.resolutionsUnderWay == 0 {
            self.assets[id]?.published = nil
            actions += self.resolutionMayHaveChanged(id, at: moment)
        }
        return actions
    }

    /// Everything is asked for and said anew on the next connection.
    mutating func forgetLesserRefusals() {
        for id in self.lesserRefusals.keys { self.timers.remove(.lesser(id)) }
        self.lesserRefusals = [:]
    }
}
