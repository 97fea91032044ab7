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
    /// The resolution (accuracy, interval and distance between updates) of a trackable without constraints and
    /// requests.
    public var defaultResolution = Resolution.standard
    /// The finest resolution that subscribers can get by request. A trackable or its constraints may override it; `nil`
    /// sets no limit.
    public var floor: Resolution? = .standardFloor
    /// The coarsest resolution that subscribers can get by request. A trackable or its constraints may override it;
    /// `nil` sets no limit.
    public var ceiling: Resolution? = .standardCeiling
    /// A constant resolution for the receiver. With `nil`, the receiver gets the finest resolution of all trackables.
    public var sensorResolution: Resolution?
    /// `true` if positions are also published as the receiver measured them, on a topic for raw updates. It needs
    /// ``sendsLive``.
    public var sendsRawLocations = false
    /// `true` if new positions are published at once as live positions; `false` if they are sent in batches of records
    /// only.
    public var sendsLive = true
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
        next.sendsLive = old.sendsLive
        next.recording.recorders = old.recording.recorders
        next.recording.unnamedRecorder = old.recording.unnamedRecorder
        return next
    }
}

/// The id and the settings of a trackable with which a caller has a publisher track it.
public struct Trackable: Hashable, Sendable {
    /// The id of the trackable, by which its topics are named.
    public var id: TrackableID
    /// The destination of the trackable. It is also published as a journey with one stop, unless an operator has set
    /// another journey.
    ///
    /// Without a destination, the trackable counts as near only by its time to arrival at the next stop of a journey.
    public var destination: Coordinate?
    /// The trackable's own rules for its resolution, such as its own resolutions and thresholds. With `nil`, only
    /// requests, the default resolution and the limits count.
    public var constraints: ResolutionConstraints?
    /// A text of the program about the trackable, for its ``policy``; `nil` for none.
    public var metadata: String?
    /// The rule that decides the resolution of this trackable, in place of the publisher's policy; `nil` for the
    /// publisher's.
    ///
    /// Two trackables with policies of their own are equal only if one is a copy of the other.
    public var policy: (any ResolutionPolicy)? {
        get { self.ownPolicy?.policy }
        set { self.ownPolicy = newValue.map(OwnPolicy.init) }
    }
    private var ownPolicy: OwnPolicy?
    /// The finest resolution that a request can reach for this trackable, in place of ``PublisherConfiguration/floor``;
    /// ``constraints`` may override it.
    public var floor: Resolution?
    /// The coarsest resolution that a request can reach for this trackable, in place of
    /// ``PublisherConfiguration/ceiling``; ``constraints`` may override it.
    public var ceiling: Resolution?
    /// The rule of the update filter for interval and displacement: an update is published when both are reached, or
    /// when one of them is.
    public var filter = FilterRule.both
    /// The longest time between two published positions, ≥ 0 s; zero sets no limit.
    ///
    /// With `nil`, it is the larger of 60 s and ten intervals of the trackable's own resolution. With
    /// ``PublisherConfiguration/deferral``, 10 minutes take the place of the 60 s.
    public var maximumSilence: Duration?
    /// `true` if the publisher publishes the last position again after the maximum silence.
    var isRepeated = true

    /// Makes a trackable without destination and constraints.
    ///
    /// - Parameter id: The name of the trackable.
    public init(_ id: TrackableID) { self.id = id }
}

/// A trackable's own policy. Policies cannot be compared, so that two of these values are equal only if they are the
/// same object.
private final class OwnPolicy: Hashable, Sendable {
    let policy: any ResolutionPolicy

    init(_ policy: any ResolutionPolicy) { self.policy = policy }

    static func == (one: OwnPolicy, other: OwnPolicy) -> Bool { one === other }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The rule for the unsent records of a trackable that another publisher took over.
public enum CollisionRule: String, Hashable, Sendable, CaseIterable {
    /// The unsent records of the trackable stay in the log after another publisher took the trackable over, and are
    /// still sent to recorders in batches.
    case keep
    /// After another publisher took the trackable over, its unsent records are removed from the log.
    case clear
}
