import Dispatch
import Synchronization

/// Wakes waiting tasks after each committed write to the gateway's database, by this process or by another one.
///
/// SQLite has no notification between processes. ``GatewayDatabase/write(_:)`` therefore sets the modification time of the
/// database file after the commit, and the watch of that file wakes the tasks of every process. A watch of the write-ahead log
/// would wake them before the commit is visible.
final class DatabaseChanges: Sendable {
    private struct State {
        var watch: (any DispatchSourceProtocol)?
        var streams: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextKey = 0
    }

    /// The time between two wake-ups when the system has no file watch left: `fs.inotify.max_user_instances` is reached.
    private static let fallbackInterval = DispatchTimeInterval.seconds(1)

    private let path: String
    private let state = Mutex(State())

    /// - Parameter path: The path of the database file, which exists by the first call of ``stream()``.
    init(path: String) { self.path = path }

    deinit { self.state.withLock { $0.watch?.cancel() } }

    /// Returns a stream that yields after each commit. Commits that follow each other while nobody reads the stream are
    /// yielded as one.
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

    /// Reports a commit of this process to the watches of all processes.
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
