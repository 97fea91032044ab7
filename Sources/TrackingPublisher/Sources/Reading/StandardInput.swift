private import SystemLibrary
import TrackingRuntime

/// The standard input of the program.
public enum StandardInput {
    /// Reads and discards the input until it ends or the task is cancelled. A regular file is not read.
    public static func discard() async {
        await ByteChannel(STDIN_FILENO, name: "standard input", isOwned: false).discard()
    }
}
