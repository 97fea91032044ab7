import Logging
import Synchronization
public import TrackingCore

/// Methods that watch a trackable and run the subscriber by themselves, so that the program does not call `run()`.
extension AssetSubscriber {
    /// Watches one trackable, given by a name in the program's text, and delivers its positions. The subscriber runs by
    /// itself, as in the method `locations(of:preferring:requesting:)` for a `TrackableID`.
    ///
    /// - Parameters:
    ///   - name: The trackable's name: 1 to 128 bytes without control characters. An invalid name stops the program.
    ///     For a name that the program reads at run time, make a `TrackableID`.
    ///   - kind: The kind of positions to deliver where both exist: published or enhanced.
    ///   - resolution: The resolution to request: how often and how precisely the publisher shall publish.
    public func locations(
        of name: StaticString, preferring kind: PositionKind? = nil, requesting resolution: Resolution
    ) -> AsyncStream<ReceivedUpdate> {
        self.locations(of: TrackableID(literal: name), preferring: kind, requesting: resolution)
    }

    /// Watches one trackable, and delivers its positions from now on; late ones are marked. The first call starts the
    /// subscriber.
    ///
    ///     let desk = try AssetSubscriber(broker: "mqtt://127.0.0.1:1883", client: "desk")
    ///     for await update in desk.locations(of: "van-7", requesting: .high(every: .seconds(1))) {
    ///         print(update.coordinate)
    ///     }
    ///
    /// The subscriber runs until ``finish()``. Do not call ``run()`` as well. Several streams may watch the same
    /// trackable; the resolution and the kind of positions of the latest call are in force. The end of a trackable's last stream withdraws the
    /// request and stops watching the trackable. The connection remains for further streams.
    ///
    /// All streams end when the subscriber ends, for example because another program uses the same client id. The
    /// reason is logged, and ``states(of:)`` delivers the state FAILED.
    ///
    /// - Parameters:
    ///   - id: The trackable.
    ///   - kind: The kind of positions to deliver where both exist: published, or enhanced ones on the road (see
    ///     ``PositionKind/enhanced``). `nil` for the kind of the configuration, which is published by default.
    ///   - resolution: The resolution to request: how often and how precisely the publisher shall publish.
    public func locations(
        of id: TrackableID, preferring kind: PositionKind? = nil, requesting resolution: Resolution
    ) -> AsyncStream<ReceivedUpdate> {
        let events = self.events
        let watch = self.beginWatch(id, preferring: kind, requesting: resolution)
        if self.begins() { self.runDetached() }
        return AsyncStream {
            for await case .location(id, let update) in events { return update }
            watch.end()
            return nil
        }
    }

    private func beginWatch(
        _ id: TrackableID, preferring kind: PositionKind?, requesting resolution: Resolution
    ) -> Watch {
        self.shared.withLock { $0.watches[id, default: 0] += 1 }
        self.watch(id, requesting: resolution, preferring: kind)
        return Watch { self.endWatch(id) }
    }

    private func endWatch(_ id: TrackableID) {
        let isLast = self.shared.withLock { shared in
            shared.watches[id, default: 1] -= 1
            if shared.watches[id] == 0 { shared.watches[id] = nil }
            return shared.watches[id] == nil
        }
        if isLast { self.unwatch(id) }
    }

    /// Runs the subscriber in a new task, because a program that only reads a stream does not call `run()`. An error
    /// that ends the subscriber is logged.
    private func runDetached() {
        Task {
            do { try await self.runToEnd() } catch {
                self.logger.error(
                    "Subscriber ended with an error: it delivers nothing more. Follow the reason, then start the program again",
                    metadata: ["reason": "\(error)"])
            }
        }
    }
}

/// An object that ends the watch of a trackable once: when the stream that needs the watch ends, or when this object is
/// released together with the stream.
private final class Watch: Sendable {
    private let hasEnded = Mutex(false)
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    deinit { self.end() }

    func end() {
        let isFirst = self.hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        if isFirst { self.onEnd() }
    }
}
