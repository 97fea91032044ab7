import Synchronization
public import TrackingCore
import TrackingRuntime

/// The event streams of a publisher. Each has the elements from the moment at which it is read, and ends with
/// ``AssetPublisher/run()``.
extension AssetPublisher {
    /// The changes of the trackables' states and of their reasons.
    ///
    /// A trackable is OFFLINE when it is added. No state is delivered when a trackable is removed. A slow reader gets
    /// the last 1,024.
    public var states: AsyncStream<TrackableStateChange> { self.streams.states.listen() }

    /// The captured fixes, each with the verdict of the update filter. A slow reader gets the last 4,096.
    public var fixes: AsyncStream<CapturedFix> { self.streams.fixes.listen() }

    /// The changes of the trackables' resolutions and of their reasons. A slow reader gets the last 1,024.
    public var resolutions: AsyncStream<TrackableResolutionChange> { self.streams.resolutions.listen() }

    /// The versions of all trips: the beginning, the progress once a minute, and the end. A slow reader gets the last
    /// 256.
    public var trips: AsyncStream<Trip> { self.streams.trips.listen() }

    /// The events of all trackables, each at the moment at which it happens. A slow reader gets the last 1,000.
    public var trackingEvents: AsyncStream<TrackableEvent> { self.streams.events.listen() }

    /// The number of events that slow readers of ``trackingEvents`` lost.
    public var lostTrackingEvents: Int { self.streams.events.lost }

    /// The resolutions that are requested from the source. A slow reader gets the last one.
    public var sensorResolutions: AsyncStream<Resolution> { self.streams.sensorResolutions.listen() }

    /// The resolution that is requested from the source now; `nil` before the first request.
    public var sensorResolution: Resolution? { self.shared.withLock { $0.sensor } }

    /// The changes of the connection: `nil` for a new connection, otherwise the reason that it was lost or could not be
    /// made. A slow reader gets the last 64.
    public var connectionChanges: AsyncStream<Disconnection?> { self.streams.connections.listen() }

    /// The commands from the broker, if the configuration allows commands. Answer each with ``answer(_:to:)``. A slow
    /// reader gets the last 64.
    public var commands: AsyncStream<ReceivedCommand> { self.streams.commands.listen() }

    /// The number of fixes that were rejected for their time.
    public var refusedFixes: Int { self.refused.load(ordering: .relaxed) }

    /// The number of messages that were skipped because they cannot be decoded or published.
    public var badMessages: Int { self.bad.count }
}

/// The senders of a publisher's event streams.
struct PublisherStreams: Sendable {
    let states = Broadcast<TrackableStateChange>(buffer: 1024)
    let fixes = Broadcast<CapturedFix>(buffer: 4096)
    let resolutions = Broadcast<TrackableResolutionChange>(buffer: 1024)
    let trips = Broadcast<Trip>(buffer: 256)
    let events = Broadcast<TrackableEvent>(buffer: 1_000)
    let sensorResolutions = Broadcast<Resolution>(buffer: 1)
    let connections = Broadcast<Disconnection?>(buffer: 64)
    let commands = Broadcast<ReceivedCommand>(buffer: 64)

    /// Ends every stream.
    func finish() {
        self.states.finish()
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
    /// The error of a request to a publisher whose `run()` has returned.
    static var publisherEnded: TrackingError {
        TrackingError(.stopped, "cannot carry out the request: the publisher has ended. Make a new one.")
    }
}
