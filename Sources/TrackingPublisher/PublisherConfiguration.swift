public import TrackingCore

/// All settings of a publisher: its identity at the broker, the resolutions, the log, and the treatment of fixes.
public struct PublisherConfiguration: MemberConfiguration, Hashable {
    /// The MQTT client id of the publisher's connection.
    public var client: ClientID
    /// The random id of this run of the publisher's program, which its messages contain.
    public var session: SessionID
    /// The prefix of all topics that the publisher uses.
    public var topicRoot = TopicRoot.standard
    /// The lease: the time after a heartbeat for which other clients count this publisher as alive. Whole seconds;
    /// clamped to 1…86,400.
    public var lease: Duration = .seconds(90)
    /// The time for which subscribers still count this publisher as present after its connection broke, in whole seconds,
    /// 1…86,400, but not beyond ``lease``. With `nil`, it counts as gone when its connection breaks.
    ///
    /// A publisher that connects again within this time was never absent. An orderly end is not affected.
    public var remainsPresentFor: Duration?
    /// `true` if the publisher publishes each trackable's resolution in force, with its destination and the remaining
    /// way.
    ///
    /// With `false`, subscribers cannot know when the next position is due, and the trackable never becomes stale for
    /// them. Requests of subscribers take effect all the same.
    public var sendsResolution = true
    /// The resolution (accuracy, interval and distance between updates) of a trackable without constraints and
    /// requests.
    public var defaultResolution = Resolution.standard
    /// The finest resolution that subscribers can get by request. A request for a finer one counts as a request for
    /// this one. A trackable or its constraints may override it; `nil` sets no limit.
    public var floor: Resolution? = .standardFloor
    /// The coarsest resolution that subscribers can get by request. A request for a coarser one counts as a request for
    /// this one. A trackable or its constraints may override it; `nil` sets no limit.
    public var ceiling: Resolution? = .standardCeiling
    /// A constant resolution for the receiver. With `nil`, the receiver gets the finest resolution of all trackables.
    public var sensorResolution: Resolution?
    /// `true` if positions are also published as the receiver measured them, on a topic for raw updates. It needs
    /// ``sendsLive``.
    public var sendsRawLocations = false
    /// `true` if new positions are published at once as live positions; `false` if they are sent in batches of records
    /// only.
    public var sendsLive = true
    /// The longest time after the last fix for which positions are predicted and published live, while the source has no
    /// fix; `nil` predicts none. It needs ``sendsLive``.
    ///
    /// A predicted position continues the last fix at its speed and in its direction. Its radius of error grows. It is
    /// never recorded, and subscribers receive it as `predicted`.
    public var predictsFor: Duration?
    /// The rule that delays sending until the device has covered some distance, for at most 10 minutes; `nil` sends
    /// without delay.
    public var deferral: SendDeferral?
    /// `true` if the beginning and the orderly end of the tracking are recorded as events.
    public var recordsLifecycle = false
    /// The settings for sending the log's records in batches to recorders.
    public var recording = SpoolStateMachine.Configuration()
    /// The limits of the log's size and of its records' age. Above a limit, the oldest records are removed first.
    public var limits = SpoolLimits()
    /// Filters and annotates each fix before it is recorded; `nil` records every fix.
    public var capture: CaptureStateMachine?
    /// `true` to drop fixes that arrive sooner than the requested interval. It is meant for a source that cannot be
    /// slowed down. It has an effect only with ``capture``.
    public var thinsFixes = false
    /// `true` to request only one fix in five minutes from the source while recording is paused, no subscriber has a
    /// request, and no trip is in progress. The receiver then sleeps. Set it to `false` for a recording, because the
    /// fixes between would be lost.
    public var restsReceiver = true
    /// The class of accuracy of the network source that watches for significant changes; `nil` for no watch. Set it only
    /// if the publisher also has a receiver.
    ///
    /// During the watch, the network source runs in place of the receiver until it reports a change. The watch requires
    /// that the capture filter records only significant changes, that no subscriber has a request, and that no trip is
    /// in progress. A trackable must also need a finer class than that of the network source.
    public var changeWatchAccuracy: Resolution.Accuracy?
    /// The template of the state machine that begins, measures and ends the trips of a trackable. Each trackable gets a
    /// new state machine with the same settings.
    public var trips = TripStateMachine(seed: 0)
    /// The detector of a low battery, for trackables whose constraints have no threshold. With `nil`, no low battery is
    /// reported for these trackables.
    public var lowBattery: LowBatteryDetector?
    /// The rule for unsent records of a trackable after another publisher took the trackable over: send them to
    /// recorders, or remove them.
    public var onCollision = CollisionRule.keep
    /// The time for which a trackable stays tracked after the last record that another system supplied for it, ≥ 0 s.
    ///
    /// The default of 20 minutes exceeds the 15 minutes after which OwnTracks repeats its position.
    public var intakeLease: Duration = .seconds(1200)
    /// `true` while fixes are recorded and published.
    ///
    /// With `false`, the publisher clears its presence messages at the broker. The records in the log remain.
    public var isOn = true
    /// `true` if the publisher subscribes to the trackables' command topics, and passes the received commands to the
    /// program.
    public var takesCommands = false
    /// `true` if the client id is random and never used again. At an orderly end, the publisher then clears its
    /// retained liveness message.
    public var isClientRandom = false

    /// Makes the configuration of a publisher with the given identity, and with the default value of each other
    /// setting.
    ///
    /// - Parameters:
    ///   - client: The client id of the connection, which the transport uses as well.
    ///   - session: The run of the program; each run needs another one.
    public init(client: ClientID, session: SessionID) {
        self.client = client
        self.session = session
    }

    /// Returns a copy of this configuration that keeps the settings of the running publisher that cannot change while
    /// it runs.
    ///
    /// These are the identity at the broker, the lease, the use of commands, live sending, and the acknowledging
    /// recorders.
    ///
    /// - Parameter old: The configuration of the running publisher.
    func withIdentity(of old: PublisherConfiguration) -> PublisherConfiguration {
        var next = self
        (next.client, next.session, next.topicRoot, next.lease) = (old.client, old.session, old.topicRoot, old.lease)
        (next.isClientRandom, next.takesCommands) = (old.isClientRandom, old.takesCommands)
        next.remainsPresentFor = old.remainsPresentFor
        next.sendsLive = old.sendsLive
        next.recording.recorders = old.recording.recorders
        next.recording.unnamedRecorder = old.recording.unnamedRecorder
        return next
    }
}

/// The rule for the unsent records of a trackable that another publisher took over.
public enum CollisionRule: String, Hashable, Sendable, CaseIterable {
    /// The unsent records of the trackable stay in the log after another publisher took the trackable over, and are
    /// still sent to recorders in batches.
    case keep
    /// After another publisher took the trackable over, its unsent records are removed from the log.
    case clear
}
