import Glibc
import Synchronization

private final class SharedBody: Sendable {
    let run: @Sendable () throws -> Void
    let failure = Mutex<(any Error)?>(nil)

    init(run: @escaping @Sendable () throws -> Void) { self.run = run }
}

/// Calls `body` on `count` threads at the same time, for calls that block, and returns when all have returned.
///
/// - Throws: The last error of `body`.
public func onThreads(_ count: Int, _ body: @escaping @Sendable () throws -> Void) throws {
    let shared = SharedBody(run: body)
    var threads = [pthread_t](repeating: pthread_t(), count: count)
    for index in threads.indices {
        let code = pthread_create(
            &threads[index], nil,
            { context in
                // This is the reference that is passed to the thread below.
                let shared = Unmanaged<SharedBody>.fromOpaque(context!).takeRetainedValue()
                do { try shared.run() } catch { shared.failure.withLock { $0 = error } }
                return nil
            }, Unmanaged.passRetained(shared).toOpaque())
        precondition(code == 0, "the system cannot create another thread")
    }
    for thread in threads { pthread_join(thread, nil) }
    if let error = shared.failure.withLock({ $0 }) { throw error }
}
