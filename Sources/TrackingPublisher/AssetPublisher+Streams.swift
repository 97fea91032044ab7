import Synchronization
public import TrackingCore
import TrackingRuntime

/// The event streams of a publisher. Each stream delivers the elements that occur after it was requested. All streams
/// end when ``AssetPublisher/run()`` returns.
extension AssetPublisher {
    /// The changes of the trackables' states (`OFFLINE`, `ONLINE` and so on) and of the reasons for them.
    ///
    /// A trackable is `OFFLINE` when it is added. No state is delivered when a trackable is removed. A slow reader gets
    /// only the last 1,024 changes.
    public var states: AsyncStream<TrackableStateChange> { self.streams.states.listen() }

    /// The recorded fixes (positions from the receiver), each with the decision of the update filter: to publish the
    /// fix live, or the reason why not. A slow reader gets only the last 4,096 fixes.
    public var fixes: AsyncStream<CapturedFix> { self.streams.fixes.listen() }

    /// The changes of the trackables' resolutions in force, and of the reasons for them. A slow reader gets only the
    /// last 1,024 changes.
    public var resolutions: AsyncStream<TrackableResolutionChange> { self.streams.resolutions.listen() }

    /// The trips of all trackables. A trip is delivered when it begins, with its progress once a minute, and when it
    /// ends. A slow reader gets only the last 256 elements.
    public var trips: AsyncStream<Trip> { self.streams.trips.listen() }

    /// The tracking events of all trackables, such as `LOW_BATTERY`, each when it happens. A slow reader gets only the
    /// last 1,000 events.
    public var trackingEvents: AsyncStream<TrackableEvent> { self.streams.events.listen() }

    /// The number of events that slow readers of ``trackingEvents`` lost.
    public var lostTrackingEvents: Int { self.streams.events.lost }

    /// The resolutions that the publisher requests from its source of positions, such as the GPS receiver. A slow
    /// reader gets only the last one.
    public var sensorResolutions: AsyncStream<Resolution> { self.streams.sensorResolutions.listen() }

    /// The resolution that the publisher requests from its source of positions now; `nil` before the first request.
    public var sensorResolution: Resolution? { self.shared.withLock { $0.sensor } }

    /// The changes of the connection to the broker. An element is `nil` for a new connection. Otherwise, it contains
    /// the reason for which the connection was lost or could not be made. A slow reader gets only the last 64 changes.
    public var connectionChanges: AsyncStream<Disconnection?> { self.streams.connections.listen() }

    /// The commands that operators send to this publisher through the broker, if the configuration allows commands.
    /// Answer each command with ``answer(_:to:)``. A slow reader gets only the last 64 commands.
    public var commands: AsyncStream<ReceivedCommand> { self.streams.commands.listen() }

    /// The number of fixes that were rejected because their time is impossible.
    public var refusedFixes: Int { self.refused.load(ordering: .relaxed) }

    /// The number of received messages that the publisher could not decode, and of its own messages that it could not
    /// publish because they are too large.
    public var badMessages: Int { self.bad.count }
}

/// The sending ends of a publisher's event streams. The buffer of each is the largest number of elements that wait for
/// one slow reader; a reader whose buffer is full loses its oldest elements.
struct PublisherStreams: Sendable {
    let states = Broadcast<TrackableStateChange>(buffer: 1024)
    let trackables = Broadcast<Set<TrackableID>>(buffer: 1)
    let fixes = Broadcast<CapturedFix>(buffer: 4096)
    let resolutions = Broadcast<TrackableResolutionChange>(buffer: 1024)
    let trips = Broadcast<Trip>(buffer: 256)
    let events = Broadcast<TrackableEvent>(buffer: 1_000)
    let sensorResolutions = Broadcast<Resolution>(buffer: 1)
    let connections = Broadcast<Disconnection?>(buffer: 64)
    let commands = Broadcast<ReceivedCommand>(buffer: 64)

    /// Ends all event streams of the publisher.
    func finish() {
        self.states.finish()
        self.trackables.finish()
        self.fixes.finish()
        self.resolutions.finish()
        self.trips.finish()
        self.events.finish()
        self.sensorResolutions.finish()
        self.connections.finish()
        self.commands.finish()
    }
}

extension TrackingError {
    /// The error (`stopped`) with which a request to a publisher that has ended fails.
    static var publisherEnded: TrackingError {
        TrackingError(.stopped, "cannot carry out the request: the publisher has ended. Make a new publisher")
    }
}
