public import TrackingCore

/// What a publisher is told once.
public struct PublisherConfiguration: MemberConfiguration, Hashable {
    /// The name of the connection; the same one the transport uses.
    public var client: ClientID
    /// This run of the program.
    public var session: SessionID
    /// Where in the broker's tree the topics live.
    public var topicRoot = TopicRoot.standard
    /// How long others believe a heartbeat, in whole seconds; beyond 1…86,400 the nearest of these counts.
    public var lease: Duration = .seconds(90)
    /// The resolution of trackables without constraints that nobody asks anything of.
    public var defaultResolution = Resolution.standard
    /// The finest resolution that a request can reach; a trackable or its constraints may override it. `nil` is no floor.
    public var floor: Resolution? = .standardFloor
    /// The coarsest resolution that a request can reach; a trackable or its constraints may override it. `nil` is no ceiling.
    public var ceiling: Resolution? = .standardCeiling
    /// A constant resolution of the receiver, in place of the finest that the trackables call for.
    public var sensorResolution: Resolution?
    /// Whether positions also go out as the receiver told them, on the raw lane; only where ``sendsLive``.
    public var sendsRawLocations = false
    /// Whether positions go out live; else they are recorded, and go out in batches only.
    public var sendsLive = true
    /// What holds sending back until some way was gone; `nil` sends as it comes.
    public var deferral: SendDeferral?
    /// Whether the beginning and the orderly end of the tracking are told as events.
    public var tellsLifecycle = false
    /// How the log's records go out on the recording lane.
    public var recording = SpoolStateMachine.Configuration()
    /// How much the log may hold; the oldest records go first.
    public var limits = SpoolLimits()
    /// What becomes of a fix before it is recorded; `nil` records every fix.
    public var capture: CaptureStateMachine?
    /// Whether fixes that come sooner than is asked of the source are left out of the log: for a source that cannot be slowed, and
    /// whose fixes are not all to be accounted for. Needs ``capture``.
    public var thinsFixes = false
    /// What begins, measures and ends the trips of each trackable.
    public var trips = TripStateMachine(seed: 0)
    /// What tells a low battery, of trackables whose constraints have no threshold; `nil` tells none.
    public var lowBattery: LowBatteryDetector?
    /// What becomes of the unsent records of a trackable that another publisher takes over.
    public var onCollision = CollisionRule.keep
    /// How long a trackable whose records come from outside is carried after the last of them, and until they are safe. The
    /// default is more than the 15 minutes after which OwnTracks says that it is still there.
    public var intakeLease: Duration = .seconds(1200)
    /// Whether anything is captured and told; off, presences are withdrawn and the log is kept.
    public var isOn = true
    /// Whether commands are taken from the trackables' command topics.
    public var takesCommands = false
    /// Whether the client id was drawn for this run alone, so that an orderly goodbye leaves nothing behind.
    public var isClientRandom = false

    /// Makes a configuration with the defaults above.
    public init(client: ClientID, session: SessionID) {
        self.client = client
        self.session = session
    }
}

/// One thing that the publisher carries.
public struct Trackable: Hashable, Sendable {
    /// Its name.
    public var id: TrackableID
    /// Where it goes; without one it is never near.
    public var destination: Coordinate?
    /// Its own resolutions, thresholds and floor; without them only requests and the default count.
    public var constraints: ResolutionConstraints?
    /// The finest that strangers may ask of this one, in place of the publisher's, and without making constraints of it;
    /// ``constraints`` may say otherwise.
    public var floor: Resolution?
    /// The coarsest resolution that a request can reach for this trackable, in place of the publisher's ceiling;
    /// ``constraints`` may override it.
    public var ceiling: Resolution?
    /// Which of the two distances between updates must be reached.
    public var filter = FilterRule.both
    /// The longest time without an update; `nil` is the larger of 60 s and ten intervals of the trackable's own resolution,
    /// zero is never.
    public var maximumSilence: Duration?
    /// Whether the last position goes out again when no new one does.
    var isRepeated = true

    /// Makes a trackable without destination and constraints.
    public init(_ id: TrackableID) { self.id = id }
}

/// What becomes of the unsent records of a trackable that another publisher takes over.
public enum CollisionRule: String, Hashable, Sendable, CaseIterable {
    /// They are sent on the recording lane all the same.
    case keep
    /// They are let go.
    case clear
}
