import Foundation

/// The seeds of a test with random input.
public enum Seeds {
    /// Returns the seeds from 1 to `count`; with the environment variable `GODWIT_FEW_SEEDS`, the first fifth of them.
    /// The thread sanitizer makes a test ten times as slow, so its run sets the variable. `make drills` uses all seeds.
    public static func first(_ count: UInt64) -> ClosedRange<UInt64> {
        1...(ProcessInfo.processInfo.environment["GODWIT_FEW_SEEDS"] == nil ? count : max(1, count / 5))
    }
}
