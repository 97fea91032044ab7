public import TrackingCore

/// The configuration of a publisher.
public struct PublisherConfiguration: MemberConfiguration, Hashable {
    /// The name of the connection; the same one the transport uses.
    public var client: ClientID
    /// This run of the program.
    public var session: SessionID
    /// The root of the topics in the broker's tree.
    public var topicRoot = TopicRoot.standard
    /// The time for which other members believe a heartbeat, in whole seconds; clamped to 1…86,400.
    public var lease: Duration = .seconds(90)
    /// The resolution of trackables without constraints and without requests.
    public var defaultResolution = Resolution.standard
    /// The finest resolution that a request can reach; a trackable or its constraints may override it. `nil` is no
    /// floor.
    public var floor: Resolution? = .standardFloor
    /// The coarsest resolution that a request can reach; a trackable or its constraints may override it. `nil` is no
    /// ceiling.
    public var ceiling: Resolution? = .standardCeiling
    /// A constant resolution of the receiver, in place of the finest that the trackables call for.
    public var sensorResolution: Resolution?
    /// `true` where positions are also published as the receiver measured them, on the raw lane; needs ``sendsLive``.
    public var sendsRawLocations = false
    /// `true` where positions are published live; `false` where they are sent in batches only.
    public var sendsLive = true
    /// Defers sending until the device has covered some distance; `nil` sends at once.
    public var deferral: SendDeferral?
    /// `true` where the beginning and the orderly end of the tracking are recorded as events.
    public var recordsLifecycle = false
    /// The settings of the recording lane, which sends the log's records.
    public var recording = SpoolStateMachine.Configuration()
    /// The limits of the log; the oldest records are removed first.
    public var limits = SpoolLimits()
    /// Filters and marks each fix before it is recorded; `nil` records every fix.
    public var capture: CaptureStateMachine?
    /// `true` where fixes that come sooner than the source was asked for are not recorded: for a source that cannot be
    /// slowed down. Needs ``capture``.
    public var thinsFixes = false
    /// Begins, measures and ends the trips of each trackable.
    public var trips = TripStateMachine(seed: 0)
    /// Detects a low battery, for trackables whose constraints have no threshold; `nil` reports none.
    public var lowBattery: LowBatteryDetector?
    /// The rule for the unsent records of a superseded trackable.
    public var onCollision = CollisionRule.keep
    /// The time for which a trackable is tracked after its last ingested record, ≥ 0 s. The default is longer than the 15
    /// minutes after which OwnTracks repeats its position.
    public var intakeLease: Duration = .seconds(1200)
    /// `true` while fixes are captured and published. While it is `false`, presences are withdrawn and the log remains.
    public var isOn = true
    /// `true` where commands on the trackables' command topics are accepted.
    public var takesCommands = false
    /// `true` where the client id is random and of this run alone: an orderly goodbye then clears the liveness.
    public var isClientRandom = false

    /// Makes a configuration with the default values.
    ///
    /// - Parameters:
    ///   - client: The client id of the connection, which the transport uses as well.
    ///   - session: The run of the program; each run needs another one.
    public init(client: ClientID, session: SessionID) {
        self.client = client
        self.session = session
    }

    /// Returns this configuration with the settings of another one that cannot change while a publisher runs: the
    /// identity at the broker, and the recorders that acknowledge.
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

/// A trackable, as a caller describes it to a publisher.
public struct Trackable: Hashable, Sendable {
    /// The name of the trackable.
    public var id: TrackableID
    /// The destination; without one, the trackable is never near.
    public var destination: Coordinate?
    /// The trackable's own resolutions, thresholds and floor; without them, only requests and the default resolution
    /// count.
    public var constraints: ResolutionConstraints?
    /// The finest resolution that a request can reach for this trackable, in place of the publisher's floor;
    /// ``constraints`` may override it.
    public var floor: Resolution?
    /// The coarsest resolution that a request can reach for this trackable, in place of the publisher's ceiling;
    /// ``constraints`` may override it.
    public var ceiling: Resolution?
    /// The rule that combines the interval and the displacement between updates.
    public var filter = FilterRule.both
    /// The longest time without an update, ≥ 0 s; `nil` is the larger of 60 s and ten intervals of the trackable's own
    /// resolution, zero is never.
    public var maximumSilence: Duration?
    /// `true` where the last position is published again after a long silence.
    var isRepeated = true

    /// Makes a trackable without destination and constraints.
    ///
    /// - Parameter id: The name of the trackable.
    public init(_ id: TrackableID) { self.id = id }
}

/// The rule for the unsent records of a trackable that another publisher took over.
public enum CollisionRule: String, Hashable, Sendable, CaseIterable {
    /// The records are sent on the recording lane all the same.
    case keep
    /// The records are removed.
    case clear
}
