import TrackingCore

/// The state of the publisher that the decisions about one of its trackables depend on, at one moment.
struct TrackableContext: Sendable {
    /// The moment, with the best time that is known.
    let moment: Moment
    /// The session of the publisher on its connection.
    let session: SessionStateMachine
    /// The reason why the broker rejects this device as a whole; `nil` while it does not.
    let connectionRejection: TrackingError?
    /// `true` while deferred sending holds positions and records back.
    let isHolding: Bool
    /// `true` while a caller waits for a fix.
    let isFixRequested: Bool
    /// The number of unpublished events of all trackables.
    let unsentEvents: Int
    /// The most batches that a trackable may hold in memory.
    let batchesAhead: Int
    // Boxed: a context is made for each trackable that something happens to.
    let configurationBox: Boxed<PublisherConfiguration>
    let captureBox: Boxed<CaptureStateMachine?>

    /// The publisher's configuration.
    var configuration: PublisherConfiguration { _read { yield self.configurationBox.wrappedValue } }
    /// The moment's monotonic time.
    var now: MonotonicTime { self.moment.now }
    /// `true` while the publisher is announced on a connection.
    var isAnnounced: Bool { self.session.isAnnounced }
    /// `true` after the own liveness came back on this connection.
    var isAlive: Bool { self.session.isLivenessConfirmed }
    /// `true` while the publisher captures and publishes.
    var isOn: Bool { self.configuration.isOn }
    /// `true` where positions are published live.
    var sendsLive: Bool { self.configuration.sendsLive }
    /// `true` where records are published without a request of the caller.
    var sendsByItself: Bool { self.configuration.sendsByItself }

    /// The time and its basis, as events record them; `nil` without a capture.
    var stamp: ClockTrust.Stamp? { self.captureBox.wrappedValue?.stamp(at: self.moment) }

    /// The time; `nil` while the clock is not set.
    var believedTime: UnixTime? {
        guard let stamp = self.stamp else { return self.moment.wall }
        return stamp.basis == .unset ? nil : stamp.time
    }

    /// The place of an event as far as the privacy zones let it be published.
    func published(placeOf event: Location) -> Location? {
        guard let capture = self.captureBox.wrappedValue else { return event }
        return capture.zones.hidden(event)
    }

    /// A position from before; `nil` where the configured privacy zones hide all of it.
    func shown(_ location: Location) -> Location? { self.configuration.shown(location) }

    /// A trip with its ends as far as the configured privacy zones let them be published.
    func shown(_ trip: Trip) -> Trip { self.configuration.shown(trip) }

    /// The path of a topic under the configured root.
    func path(_ topic: Topic) -> String { self.configuration.topicRoot.path(topic) }
}

extension PublisherConfiguration {
    /// `true` where records are published without a request of the caller.
    var sendsByItself: Bool { self.recording.batchWindow != nil }

    /// A position from before; `nil` where the privacy zones hide all of it.
    func shown(_ location: Location) -> Location? {
        guard let zones = self.capture?.zones else { return location }
        return zones.hidden(location)
    }

    /// A trip with its ends as far as the privacy zones let them be published.
    func shown(_ trip: Trip) -> Trip {
        var shown = trip
        shown.startLocation = trip.startLocation.flatMap(self.shown)
        shown.lastLocation = trip.lastLocation.flatMap(self.shown)
        return shown
    }
}

/// The other publishers of a trackable, as their presences name them.
struct OtherPublishers: Sendable {
    /// The presences on the topic, of publishers that are present or not.
    let presences: [Presence]
    /// The publisher that is present and entitled to publish the trackable.
    let owner: Member?
}
