import Foundation

/// What a piece of work costs by itself, whatever else the machine does meanwhile.
public enum ProcessorTime {
    /// Whether times tell something of the code: not of what the sanitizer puts into it (`scripts/sanitizer`).
    public static var isTelling: Bool { ProcessInfo.processInfo.environment["GODWIT_UNIT_TESTS"] == nil }

    /// How long the processor is at work for `body`, on the calling thread.
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
