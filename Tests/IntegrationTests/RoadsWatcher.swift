import Synchronization
import TestSupport
import TrackingCore
import TrackingMQTT

/// A subscriber to the positions of all trackables, as the devices send them and on the road. It checks that no final
/// position changes.
final class RoadsWatcher: Sendable {
    /// The messages so far.
    struct State {
        /// The time of the newest fix of each trackable.
        var newest: [TrackableID: UnixTime] = [:]
        /// The waits for positions on the road.
        fileprivate var waits: [TrackableID: Wait] = [:]
        /// The fixes as the devices sent them.
        var fixes: [TrackableID: [UnixTime: Coordinate]] = [:]
        /// The final positions that changed.
        var changes: [String] = []
        fileprivate var roads: [StreamID: Matches] = [:]

        /// The number of positions that are final.
        var finalCount: Int {
            self.roads.values.reduce(0) { count, matches in count + matches.places.keys.count { $0 <= matches.final } }
        }
    }

    /// The positions on the road of one stream.
    fileprivate struct Matches {
        var places: [UInt64: Coordinate] = [:]
        /// The highest number of a final position.
        var final: UInt64 = 0
    }

    /// The wait for a position on the road of a fix that arrives after the wait began.
    fileprivate struct Wait {
        /// The time of the newest fix before the wait.
        var last: UnixTime?
        /// The first fix of the wait: its time, and the time of its arrival.
        var first: (time: UnixTime, arrival: ContinuousClock.Instant)?
        /// The time from the arrival of the first fix to the first matched position.
        var duration: Duration?
    }

    private let transport: MQTTTransport
    private let store = Mutex(State())

    init(_ broker: MosquittoProcess) throws {
        var configuration = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: try ClientID("watcher"))
        configuration.firstWait = .milliseconds(20)
        configuration.longestWait = .milliseconds(100)
        self.transport = try MQTTTransport(configuration: configuration)
    }

    /// The messages so far.
    var state: State { self.store.withLock { $0 } }

    /// Waits until each of these trackables has a position on the road of a fix that arrived after this call. Returns
    /// the longest time from the arrival of the first such fix.
    @discardableResult
    func waitUntilMatched(_ ids: [TrackableID]) async throws -> Duration {
        self.store.withLock { state in
            for id in ids { state.waits[id] = Wait(last: state.newest[id]) }
        }
        try await waitUntil { ids.allSatisfy { self.state.waits[$0]?.duration != nil } }
        return ids.compactMap { self.state.waits[$0]?.duration }.max() ?? .zero
    }

    /// Runs until cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.transport.run() }
            for await events in self.transport.events {
                for event in events { self.happened(event) }
            }
        }
    }

    private func happened(_ event: TransportEvent) {
        switch event {
        case .connected: self.transport.send([.subscribe(["tracking/+", "tracking/+/enhanced"], 1)])
        case .received(let message):
            guard let update = try? LocationCodec.decode(message.payload) else { return }
            switch TopicRoot.standard.topic(message.topic) {
            case .location(let id): self.received(update.location, of: id)
            case .enhanced(let id): self.received(update, onRoadOf: id)
            default: break
            }
        case .subscribed, .disconnected, .published: break
        }
    }

    private func received(_ fix: Location, of id: TrackableID) {
        self.store.withLock { state in
            state.fixes[id, default: [:]][fix.time] = fix.coordinate
            if let wait = state.waits[id], wait.first == nil, wait.last.map({ $0 < fix.time }) ?? true {
                state.waits[id]?.first = (fix.time, .now)
            }
            state.newest[id] = max(state.newest[id] ?? fix.time, fix.time)
        }
    }

    private func received(_ update: LocationUpdate, onRoadOf id: TrackableID) {
        guard let stream = update.location.stream, let seq = update.location.seq else { return }
        let fix = update.location
        self.store.withLock { state in
            var matches = state.roads[stream] ?? Matches()
            if seq <= matches.final, let place = matches.places[seq], place != fix.coordinate {
                state.changes.append("\(id) \(stream)/\(seq)")
            }
            matches.places[seq] = fix.coordinate
            matches.final = max(matches.final, update.enhancement?.finalSeq ?? 0)
            state.roads[stream] = matches
            guard update.enhancement?.confidence == .matched, let wait = state.waits[id], let first = wait.first,
                wait.duration == nil, first.time <= fix.time
            else { return }
            state.waits[id]?.duration = first.arrival.duration(to: .now)
        }
    }
}
