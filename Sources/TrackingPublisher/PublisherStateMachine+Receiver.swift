import TrackingCore

/// The resolution that the publisher requests from the source of fixes, such as the receiver.
extension PublisherStateMachine {
    /// Requests the sensor resolution from the source if it differs from the last one requested.
    ///
    /// The sensor resolution is the configured constant, or else the finest of all trackables, as the receiver's sleep
    /// requires. While a caller waits for a fix, the interval of the sensor resolution is at most one second.
    ///
    /// Between two significant changes, the sensor resolution is one that a network source meets. After a change, the
    /// receiver does not sleep or rest until it has a fix.
    mutating func updateSensorResolution() -> [Action] {
        let (constant, standard) = (self.configuration.sensorResolution, self.configuration.defaultResolution)
        let rests = self.configuration.restsReceiver && self.capture?.isPaused == true
        let watches = self.changeWatch.isCoarse && self.watchesChanges
        let searches = self.changeWatch.isMeasuring && self.watchesChanges
        let (table, isAtOnce) = (self.table, !self.fixRequests.isEmpty)
        let next = self.device.requestSensor(constant: constant, isAtOnce: isAtOnce) {
            if let constant { return constant }
            if watches { return SignificantChangeWatch.resolution }
            let trackables = table.all.filter { $0.failure == nil }
            let finest = SensorResolution.finest(of: trackables.map(\.resolution.sensor), default: standard)
            if searches { return finest.withoutSleep }
            if rests, !trackables.contains(where: Self.needsPositions) { return finest.resting }
            return Self.maySleep(trackables) ? finest : finest.withoutSleep
        }
        return next.map { [.useSensorResolution($0)] } ?? []
    }

    /// `true` if only significant changes matter: the capture filter records nothing else, no trackable and no caller
    /// needs more, and a network source can watch for them. A network source that meets the requested accuracy by itself
    /// is used in place of the receiver anyway.
    var watchesChanges: Bool {
        guard let network = self.configuration.changeWatchAccuracy, self.capture?.filter.significantChange == .only,
            self.configuration.sensorResolution == nil, self.fixRequests.isEmpty
        else { return false }
        let trackables = self.table.all.filter { $0.failure == nil }
        return !trackables.isEmpty && trackables.allSatisfy { !Self.needsPositions($0) }
            && trackables.contains { $0.resolution.sensor.accuracy > network }
    }

    /// Returns `true` if a trackable needs its position also while it is stationary: for a subscriber's request, or for
    /// a trip.
    private static func needsPositions(_ trackable: TrackableStateMachine) -> Bool {
        trackable.resolution.isRequested || trackable.trips.machine.current != nil
    }

    /// Returns `true` if fixes at the finest interval are enough for all trackables. A trackable with another interval
    /// needs fixes at other times, one with the filter `either` needs them for the distance, and an automatic trip ends
    /// by silence.
    private static func maySleep(_ trackables: some Sequence<TrackableStateMachine>) -> Bool {
        let first = trackables.first { _ in true }?.resolution.sensor.desiredInterval
        return trackables.allSatisfy {
            $0.trackable.filter == .both && $0.resolution.sensor.desiredInterval == first
                && ($0.trips.machine.automatic == nil || $0.trips.machine.current == nil)
        }
    }

    /// The time at which a pause begins if no fix arrives until then; `nil` for none. A receiver that sleeps is silent
    /// although the trackable may move, so its next fix must be overdue too. While only significant changes matter, the
    /// silence of the receiver means nothing. Afterwards, the receiver needs time to search for a fix.
    var pauseDeadline: MonotonicTime? {
        guard !self.changeWatch.isOn else { return nil }
        let interval = self.device.sensor?.desiredInterval ?? .zero
        let sleep = interval > ReceiverPower.leastLimit ? interval + ReceiverPower.search : .zero
        guard let deadline = self.capture?.nextDeadline?.advanced(by: sleep) else { return nil }
        let searched = self.changeWatch.ended?.advanced(by: SignificantChangeWatch.search)
        return searched.map { max($0, deadline) } ?? deadline
    }

    /// The resolution by which the capture drops surplus fixes of a source that cannot be slowed down; `nil` uses every
    /// fix.
    var thinning: Resolution? {
        let isThinned = self.configuration.thinsFixes && self.table.all.allSatisfy { $0.trackable.filter == .both }
        return isThinned ? self.device.sensor?.withoutDisplacement : nil
    }
}

extension Resolution {
    /// The resolution for the receiver while recording is paused and the positions are not needed: a fix in five
    /// minutes, to see if the trackable has left.
    var resting: Resolution { self.with(interval: max(self.desiredInterval, .seconds(300))) }

    /// The resolution for a receiver that must not sleep between fixes: an
    /// interval of at most ``ReceiverPower/leastLimit``.
    var withoutSleep: Resolution { self.with(interval: min(self.desiredInterval, ReceiverPower.leastLimit)) }

    private func with(interval: Duration) -> Resolution {
        // Cannot fail: the caller takes the interval from a resolution or from a constant within the range of intervals.
        try! Resolution(
            accuracy: self.accuracy, desiredInterval: interval, minimumDisplacement: self.minimumDisplacement)
    }
}
