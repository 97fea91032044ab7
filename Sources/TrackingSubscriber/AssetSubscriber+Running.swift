import Logging
import Synchronization
public import TrackingCore

/// A subscriber that runs by itself.
extension AssetSubscriber {
    /// The positions of one trackable, as `locations(of:requesting:)` delivers them.
    ///
    /// - Parameters:
    ///   - name: The trackable's name: 1 to 128 bytes without control characters. Another name in the program's text stops
    ///     the program. For a name that the program reads, make a `TrackableID`.
    ///   - resolution: The resolution to request.
    public func locations(of name: StaticString, requesting resolution: Resolution) -> AsyncStream<ReceivedUpdate> {
        self.locations(of: TrackableID(literal: name), requesting: resolution)
    }

    /// Watches one trackable, and delivers its positions from now on; late ones are marked.
    ///
    ///     let desk = try AssetSubscriber(broker: "mqtt://127.0.0.1:1883", client: "desk")
    ///     for await update in desk.locations(of: "van-7", requesting: .high(every: .seconds(1))) { print(update.coordinate) }
    ///
    /// The first call runs the subscriber, until ``finish()``. Do not call ``run()`` as well. A stream that is cancelled or
    /// released withdraws the request, unless another of these streams watches the trackable; the connection remains for
    /// further streams. Of several requests for a trackable, the last one is in force.
    ///
    /// All streams end with the subscriber. The reason, such as a program with the same client id, is logged, and
    /// ``states(of:)`` delivers FAILED.
    ///
    /// - Parameters:
    ///   - id: The trackable.
    ///   - resolution: The resolution to request.
    public func locations(of id: TrackableID, requesting resolution: Resolution) -> AsyncStream<ReceivedUpdate> {
        let events = self.events
        let watch = self.beginWatch(id, requesting: resolution)
        if self.begins() { self.runDetached() }
        return AsyncStream {
            for await case .location(id, let update) in events { return update }
            watch.end()
            return nil
        }
    }

    private func beginWatch(_ id: TrackableID, requesting resolution: Resolution) -> Watch {
        self.shared.withLock { $0.watches[id, default: 0] += 1 }
        self.watch(id, requesting: resolution)
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

    /// Runs the subscriber in a task of its own. The program has no call in which the subscriber could run: it only reads
    /// the stream.
    private func runDetached() {
        Task {
            do { try await self.runToEnd() } catch {
                self.logger.error("Subscriber ended", metadata: ["reason": "\(error)"])
            }
        }
    }
}

/// The watch of one stream. It ends with the stream.
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
