private import Glibc
import TrackingRuntime

/// What is piped into the program.
public enum StandardInput {
    /// Passes over what comes in until the task is cancelled or it ends; a file that it was redirected from is left alone.
    public static func discard() async {
        await ByteChannel(STDIN_FILENO, name: "standard input", isOwned: false).discard()
    }
}
