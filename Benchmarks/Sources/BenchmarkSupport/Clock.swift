import Glibc

/// The cost of a piece of work: its wall-clock time and its processor time.
public struct Cost: Sendable {
    /// The wall-clock time in seconds.
    public var seconds: Double
    /// The user and system time of the whole process, in seconds.
    public var cpuSeconds: Double

    /// Creates a cost from times that were measured elsewhere.
    public init(seconds: Double, cpuSeconds: Double) {
        self.seconds = seconds
        self.cpuSeconds = cpuSeconds
    }

    /// The cost of this process up to now. The wall clock has an arbitrary origin, so that only differences have a
    /// meaning.
    public static var soFar: Cost {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        let whole = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
        let parts = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
        return Cost(seconds: secondsNow(), cpuSeconds: Double(whole) + Double(parts) * 1e-6)
    }

    /// Returns the cost between two moments.
    public static func - (later: Cost, earlier: Cost) -> Cost {
        Cost(seconds: later.seconds - earlier.seconds, cpuSeconds: later.cpuSeconds - earlier.cpuSeconds)
    }
}

/// Returns the time of the monotonic clock in seconds.
public func secondsNow() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

/// Calls `body` with 0, 1, 2 … at a steady pace, on the task's preferred executor, and returns after `count` calls. A
/// thread of its own keeps the time.
@concurrent
public func pace(_ count: Int, every seconds: Double, _ body: @Sendable (Int) -> Void) async {
    let (ticks, continuation) = AsyncStream.makeStream(of: Int.self)
    startThread {
        let start = secondsNow()
        for index in 0..<count {
            let due = start + Double(index + 1) * seconds
            var time = timespec(tv_sec: Int(due), tv_nsec: Int((due - due.rounded(.down)) * 1e9))
            clock_nanosleep(CLOCK_MONOTONIC, Int32(TIMER_ABSTIME), &time, nil)
            continuation.yield(index)
        }
        continuation.finish()
    }
    for await index in ticks { body(index) }
}

private final class ThreadBody {
    let run: @Sendable () -> Void
    init(run: @escaping @Sendable () -> Void) { self.run = run }
}

private func startThread(_ run: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let code = pthread_create(
        &thread, nil,
        { context in
            // This is the reference that is passed to the thread below.
            Unmanaged<ThreadBody>.fromOpaque(context!).takeRetainedValue().run()
            return nil
        }, Unmanaged.passRetained(ThreadBody(run: run)).toOpaque())
    precondition(code == 0, "the system cannot create another thread")
    pthread_detach(thread)
}
