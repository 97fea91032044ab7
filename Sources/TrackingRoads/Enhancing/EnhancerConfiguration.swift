public import TrackingCore

/// The settings of an enhancer, which do not change while it runs.
public struct EnhancerConfiguration: MemberConfiguration, Hashable {
    /// The client id of the enhancer.
    public var client: ClientID
    /// The identifier of this run of the enhancer's program.
    public var session: SessionID
    /// The topic prefix below which all tracking topics are.
    public var topicRoot = TopicRoot.standard
    /// `true` when no later run will use this client id.
    public var isClientRandom = false
    /// The lease of the enhancer: other clients count it as alive for this time after each of its heartbeats. Whole
    /// seconds, 1…86,400.
    public var lease: Duration = .seconds(90)
    /// The means of travel of the trackables without one in ``profiles``; `nil` to use the motion that each device
    /// reports.
    public var profile: TravelProfile?
    /// The means of travel of single trackables.
    public var profiles: [TrackableID: TravelProfile] = [:]
    /// The trackables whose positions are enhanced; empty for all trackables.
    public var only: Set<TrackableID> = []
    /// The trackables whose positions are not enhanced.
    public var except: Set<TrackableID> = []
    /// The name of the group whose members divide the trackables among themselves; `nil` for an enhancer that serves all
    /// trackables. All members of a group have the same settings, except for their client ids.
    public var group: ClientID?

    /// The time that a fix waits for the routing engine: 150 ms. Afterwards it is published as the device sent it.
    public static let patience = Duration.milliseconds(150)
    /// The maximum number of trackables whose fixes are remembered. Before a further one, the trackable without fixes
    /// for the longest time is forgotten.
    public static let maximumTrackables = 10_000
    /// The maximum size of the remembered fixes of all trackables, in bytes: 128 MB.
    public static let maximumBytes = 128_000_000
    /// The time without fixes after which a trackable is forgotten.
    public static let idleTime = Duration.seconds(1_800)
    /// The time that a member of a group waits until each other member knows it: 5 s.
    static let joinPatience = Duration.seconds(5)

    /// Creates a configuration with the default value of each setting.
    ///
    /// - Parameters:
    ///   - client: The client id of the enhancer.
    ///   - session: The identifier of this run of the program.
    public init(client: ClientID, session: SessionID) {
        self.client = client
        self.session = session
    }

    /// Returns the configured means of travel of a trackable; `nil` to use the motion that its device reports.
    func profile(of id: TrackableID) -> TravelProfile? { self.profiles[id] ?? self.profile }

    /// Returns `true` if positions of this trackable are enhanced.
    func includes(_ id: TrackableID) -> Bool {
        (self.only.isEmpty || self.only.contains(id)) && !self.except.contains(id)
    }

    /// The trackables of ``only`` without those of ``except``, in order; `nil` for all trackables.
    private var named: [TrackableID]? { self.only.isEmpty ? nil : self.only.subtracting(self.except).sorted() }

    /// The topic filters of the positions that are enhanced, and of the journeys and estimates of their trackables.
    var filters: [TopicFilter] { self.positionFilters + self.journeyFilters }

    /// The topic filters of the positions that are enhanced.
    var positionFilters: [TopicFilter] { self.named.map { $0.map { .topic(.location($0)) } } ?? [.everyLocation] }

    /// The topic filters of the journeys and estimates of the trackables.
    var journeyFilters: [TopicFilter] {
        self.named.map { $0.flatMap { [.topic(.journey($0)), .topic(.estimate($0))] } }
            ?? [.everyJourney, .everyEstimate]
    }

    /// The topic filters of the positions on the road.
    var enhancedFilters: [TopicFilter] { self.named.map { $0.map { .topic(.enhanced($0)) } } ?? [.everyEnhanced] }
}

/// An event that an enhancer delivers to its program: for example, a connection was made or lost, or the routing engine
/// is away.
public enum EnhancerEvent: Hashable, Sendable {
    /// The enhancer is connected to the broker, and its subscriptions are answered.
    case connected
    /// The connection to the broker was lost or could not be made.
    case disconnected(Disconnection)
    /// The broker rejects a subscription of the enhancer: positions on topics of this filter are not enhanced.
    case subscriptionRefused(filter: String, TrackingError)
    /// The broker rejected an update with a position on the road, of this trackable. Only the first rejection on each
    /// connection is delivered.
    case publishRefused(TrackableID, TrackingError)
    /// A received message cannot be read, and is ignored.
    case badMessage(topic: String, TrackingError)
    /// The routing engine failed several times in a row. Positions are published as the devices send them. The enhancer
    /// tries again after the wait `retry`.
    case engineAway(TrackingError, retry: Duration)
    /// The routing engine answers again. The time is that since ``engineAway(_:retry:)``.
    case engineBack(after: Duration)
    /// An enhancer joined or left the group. The clients are the present members, this enhancer among them.
    case groupChanged([ClientID])
    /// The enhancer stops because of this error, from which it cannot recover.
    case failed(TrackingError)
}

extension SessionID {
    /// A number that differs from run to run, from which the ids of events are made.
    var seed: UInt64 { self.rawValue.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 } }
}
