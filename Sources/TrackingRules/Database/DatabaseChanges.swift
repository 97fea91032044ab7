import Dispatch
import Synchronization
import TrackingRuntime

/// Wakes waiting tasks after each committed write to the gateway's database, by this process or by another one.
///
/// SQLite has no notification between processes. ``GatewayDatabase/write(_:)`` therefore sets the modification time of
/// the database file after each commit. A watch of that file wakes the waiting tasks in every process. A watch of
/// SQLite's write-ahead log would wake them before the commit is visible.
final class DatabaseChanges: Sendable {
    private struct State {
        var watch: FileChanges?
        /// The timer that wakes the waiting tasks regularly if the system has no file watch left; `nil` otherwise.
        var timer: (any DispatchSourceProtocol)?
        var streams: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextKey = 0
    }

    /// The time between two wake-ups when the operating system has no file watch left (`fs.inotify.max_user_instances`
    /// is reached). Tasks are then woken at this interval instead of after each commit.
    private static let fallbackInterval = DispatchTimeInterval.seconds(1)

    private let path: String
    private let state = Mutex(State())

    /// Creates a notifier for the commits to one database.
    ///
    /// - Parameter path: The path of the database file, which must exist before the first call of ``stream()``.
    init(path: String) { self.path = path }

    deinit { self.state.withLock { $0.timer?.cancel() } }

    /// Returns a stream that yields after each commit to the database. Several commits are yielded as one while no task
    /// reads the stream.
    func stream() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let key = self.state.withLock { state in
            if state.watch == nil, state.timer == nil { self.startWatch(&state) }
            state.nextKey += 1
            state.streams[state.nextKey] = continuation
            return state.nextKey
        }
        continuation.onTermination = { [weak self] _ in self?.remove(key) }
        return stream
    }

    /// Reports a commit of this process to all processes that watch the database file. The call sets the file's
    /// modification time.
    func didCommit() { FileChanges.touch(self.path) }

    private func startWatch(_ state: inout State) {
        let wake: @Sendable () -> Void = { [weak self] in self?.wake() }
        state.watch = FileChanges(self.path, wake)
        guard state.watch == nil else { return }
        let timer = DispatchSource.makeTimerSource()
        timer.schedule(deadline: .now(), repeating: Self.fallbackInterval)
        timer.setEventHandler(handler: DispatchWorkItem(block: wake))
        timer.activate()
        state.timer = timer
    }

    private func wake() {
        for continuation in self.state.withLock({ Array($0.streams.values) }) { continuation.yield() }
    }

    private func remove(_ key: Int) {
        let watch = self.state.withLock { state -> FileChanges? in
            state.streams[key] = nil
            guard state.streams.isEmpty else { return nil }
            state.timer?.cancel()
            state.timer = nil
            return state.watch.take()
        }
        watch?.cancel()
    }
}
