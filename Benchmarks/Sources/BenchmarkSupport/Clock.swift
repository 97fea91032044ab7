import Glibc

/// Wall clock and processor time.
public struct Cost: Sendable {
    /// On the clock.
    public var seconds: Double
    /// User and system time of the whole process.
    public var cpuSeconds: Double

    /// A cost as measured elsewhere.
    public init(seconds: Double, cpuSeconds: Double) {
        self.seconds = seconds
        self.cpuSeconds = cpuSeconds
    }

    /// What this process has used up to now, on a clock with an origin of its own.
    public static var soFar: Cost {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        let whole = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
        let parts = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
        return Cost(seconds: secondsNow(), cpuSeconds: Double(whole) + Double(parts) * 1e-6)
    }

    /// What was used between the two.
    public static func - (later: Cost, earlier: Cost) -> Cost {
        Cost(seconds: later.seconds - earlier.seconds, cpuSeconds: later.cpuSeconds - earlier.cpuSeconds)
    }
}

/// The monotonic clock, in seconds.
public func secondsNow() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

/// Calls `body` with 0, 1, 2 … at a steady pace, where the task prefers to run, and returns when it was called `count` times.
/// A thread of its own keeps the time.
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
            // The reference that was handed over below.
            Unmanaged<ThreadBody>.fromOpaque(context!).takeRetainedValue().run()
            return nil
        }, Unmanaged.passRetained(ThreadBody(run: run)).toOpaque())
    precondition(code == 0, "the system has no thread left")
    pthread_detach(thread)
}
