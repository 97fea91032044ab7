import Dispatch
import Synchronization

/// Wakes waiting tasks after each committed write to the gateway's database, by this process or by another one.
///
/// SQLite has no notification between processes. ``GatewayDatabase/write(_:)`` therefore sets the modification time of
/// the database file after each commit. A watch of that file wakes the waiting tasks in every process. A watch of
/// SQLite's write-ahead log would wake them before the commit is visible.
final class DatabaseChanges: Sendable {
    private struct State {
        var watch: (any DispatchSourceProtocol)?
        var streams: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextKey = 0
    }

    /// The time between two wake-ups when the operating system has no file watch left (`fs.inotify.max_user_instances`
    /// is reached). Tasks are then woken at this interval instead of after each commit.
    private static let fallbackInterval = DispatchTimeInterval.seconds(1)

    private let path: String
    private let state = Mutex(State())

    /// Creates a notifier of commits without a waiting task.
    ///
    /// - Parameter path: The path of the database file, which must exist before the first call of ``stream()``.
    init(path: String) { self.path = path }

    deinit { self.state.withLock { $0.watch?.cancel() } }

    /// Returns a stream that yields after each commit to the database. Several commits are yielded as one while no task
    /// reads the stream.
    func stream() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let key = self.state.withLock { state in
            if state.watch == nil { state.watch = self.makeWatch() }
            state.nextKey += 1
            state.streams[state.nextKey] = continuation
            return state.nextKey
        }
        continuation.onTermination = { [weak self] _ in self?.remove(key) }
        return stream
    }

    /// Reports a commit of this process to the waiting tasks of all processes.
    func didCommit() { SystemFile.touch(self.path) }

    private func makeWatch() -> any DispatchSourceProtocol {
        let wake: @Sendable () -> Void = { [weak self] in self?.wake() }
        if let watch = SystemFile.watch(self.path, wake) { return watch }
        let timer = DispatchSource.makeTimerSource()
        timer.schedule(deadline: .now(), repeating: Self.fallbackInterval)
        timer.setEventHandler(handler: DispatchWorkItem(block: wake))
        timer.activate()
        return timer
    }

    private func wake() {
        for continuation in self.state.withLock({ Array($0.streams.values) }) { continuation.yield() }
    }

    private func remove(_ key: Int) {
        let watch = self.state.withLock { state -> (any DispatchSourceProtocol)? in
            state.streams[key] = nil
            return state.streams.isEmpty ? state.watch.take() : nil
        }
        watch?.cancel()
    }
}
