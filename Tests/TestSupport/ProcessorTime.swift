import Foundation

/// Measures the processor time of a piece of work, which does not depend on other load on the machine.
public enum ProcessorTime {
    /// `true` if processor time measures the code alone. It is `false` under the thread sanitizer, which adds
    /// instructions.
    public static var isTelling: Bool { ProcessInfo.processInfo.environment["TSAN_OPTIONS"] == nil }

    /// Returns the processor time that the calling thread spends in `body`.
    public static func measure(_ body: () throws -> Void) rethrows -> Duration {
        let begin = Self.now
        try body()
        return Self.now - begin
    }

    private static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
