import TrackingCore

/// The part of the publisher's state, at one moment, on which the decisions about one trackable depend.
struct TrackableContext: Sendable {
    /// The time of the present event, as the publisher uses it. If the device's clock is not set, the best known time
    /// replaces the wall-clock time.
    let moment: Moment
    /// The state of the publisher's session at the broker: its connection, announcement and liveness.
    let session: SessionStateMachine
    /// The reason why the broker rejects this device as a whole; `nil` while it does not.
    let connectionRejection: TrackingError?
    /// `true` while positions and records wait until the device has moved far enough (sending is deferred).
    let isHolding: Bool
    /// `true` while a caller that requested a new fix waits for it.
    let isFixRequested: Bool
    /// The number of events of all trackables that are recorded but not published yet.
    let unsentEvents: Int
    /// The largest number of batches that one trackable may read from the log before publishing them.
    let batchesAhead: Int
    // Boxed: a context is made for each trackable that something happens to.
    let configurationBox: Boxed<PublisherConfiguration>
    let captureBox: Boxed<CaptureStateMachine?>

    /// The publisher's configuration.
    var configuration: PublisherConfiguration { _read { yield self.configurationBox.wrappedValue } }
    /// The time on the monotonic clock at which the publisher handles the present event.
    var now: MonotonicTime { self.moment.now }
    /// `true` while the publisher is announced on a connection.
    var isAnnounced: Bool { self.session.isAnnounced }
    /// `true` after the broker delivered this publisher's own liveness message on this connection.
    var isAlive: Bool { self.session.isLivenessConfirmed }
    /// `true` while the publisher is switched on, that is, records and publishes fixes.
    var isOn: Bool { self.configuration.isOn }
    /// `true` if new positions are published at once as live positions, and not only in batches of records.
    var sendsLive: Bool { self.configuration.sendsLive }
    /// `true` if records are sent without a request of the caller. This is so if the configuration has a batch window,
    /// the time after which a batch that is not full is sent.
    var sendsByItself: Bool { self.configuration.sendsByItself }

    /// The time for an event, and the source of that time, such as the device's clock or a clock that is not set; `nil`
    /// if the publisher has no capture, which checks the clock.
    var stamp: ClockTrust.Stamp? { self.captureBox.wrappedValue?.stamp(at: self.moment) }

    /// The best known present time: that of the device's clock if it is set, else the last time of a receiver,
    /// continued. `nil` if neither is known. Without a capture, which examines fixes, it is always the time of the
    /// device's clock.
    var believedTime: UnixTime? {
        guard let stamp = self.stamp else { return self.moment.wall }
        return stamp.basis == .unset ? nil : stamp.time
    }

    /// Returns an event's position as the privacy zones allow it to be published; `nil` if they hide it.
    func published(placeOf event: Location) -> Location? {
        guard let capture = self.captureBox.wrappedValue else { return event }
        return capture.zones.hidden(event)
    }

    /// Returns a position that was captured earlier as the privacy zones that are configured now allow it to be
    /// published; `nil` if they hide it.
    func shown(_ location: Location) -> Location? { self.configuration.shown(location) }

    /// Returns a place, such as a destination; `nil` if the configured privacy zones hide it.
    func shown(_ place: Coordinate) -> Coordinate? {
        self.configuration.capture?.zones.hides(place) == true ? nil : place
    }

    /// Returns a trip whose first and last position are as the configured privacy zones allow; a hidden position is
    /// removed.
    func shown(_ trip: Trip) -> Trip { self.configuration.shown(trip) }

    /// Returns a batch with the number of its points in the statistics of each point, if points have statistics.
    func counted(_ batch: HistoryBatch) -> HistoryBatch { self.addsStatistics ? batch.countingPoints : batch }

    /// Returns an update with the number of its points in the statistics of each point, if points have statistics.
    func counted(_ update: LocationUpdate) -> LocationUpdate { self.addsStatistics ? update.countingPoints : update }

    /// `true` if the capture adds its settings to the `extra` of each point.
    private var addsStatistics: Bool { self.captureBox.wrappedValue?.configuration.stats != nil }

    /// Returns the full path of a topic, which begins with the configured topic root.
    func path(_ topic: Topic) -> String { self.configuration.topicRoot.path(topic) }
}

extension PublisherConfiguration {
    /// `true` if records are sent in batches without a request of the caller: a batch window, the time for which a
    /// batch waits for more records, is configured.
    var sendsByItself: Bool { self.recording.batchWindow != nil }

    /// Returns a position that was captured earlier as the privacy zones that are configured now allow it to be
    /// published; `nil` if they hide it.
    func shown(_ location: Location) -> Location? {
        guard let zones = self.capture?.zones else { return location }
        return zones.hidden(location)
    }

    /// Returns a trip whose first and last position are as the privacy zones allow; a hidden position is removed.
    func shown(_ trip: Trip) -> Trip {
        var shown = trip
        shown.startLocation = trip.startLocation.flatMap(self.shown)
        shown.lastLocation = trip.lastLocation.flatMap(self.shown)
        return shown
    }
}

/// The other publishers of the same trackable: their presence messages, and the owner among them.
struct OtherPublishers: Sendable {
    /// The presence messages of the other publishers. Some of these publishers may be gone.
    let presences: [Presence]
    /// The publisher that is present and entitled to publish the trackable; `nil` if there is none.
    let owner: Member?
}
