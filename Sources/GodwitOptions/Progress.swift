private import SystemLibrary

/// The progress of a long command, the finished steps among all steps, as one line of text with a bar.
public struct ProgressBar: Hashable, Sendable {
    private let done: Int
    private let total: Int

    /// Creates a progress bar from the numbers of finished and of all steps.
    ///
    /// - Parameters:
    ///   - done: The number of finished steps, 0…`total`.
    ///   - total: The number of all steps.
    public init(done: Int, total: Int) {
        self.done = done
        self.total = total
    }

    /// Returns the progress bar with its count, such as `[###...] 3/6`, at most `width` characters long.
    public func text(width: Int) -> String {
        let count = " \(self.done)/\(self.total)"
        let room = max(0, min(60, width - count.count - 3))
        let part = self.total > 0 ? Double(min(self.done, self.total)) / Double(self.total) : 1
        let filled = Int((part * Double(room)).rounded(.down))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: room - filled)
        return String("[\(bar)]\(count)".prefix(width))
    }
}

/// A progress bar on standard error, drawn only on a terminal.
public struct ErrorProgress {
    private let isShown: Bool
    private var shown: ProgressBar?

    /// Creates a progress bar for standard error.
    ///
    /// - Parameter isWanted: `false` to draw nothing, for example because the output goes to the same terminal.
    public init(isWanted: Bool) { self.isShown = isWanted && isatty(STDERR_FILENO) == 1 }

    /// Draws a progress bar on standard error, in place of the one drawn before. Does nothing if the same bar is
    /// already shown, or if standard error is not a terminal.
    public mutating func show(_ bar: ProgressBar) {
        guard self.isShown, bar != self.shown else { return }
        self.shown = bar
        _ = WholeWrite.write(Array("\r\(bar.text(width: Terminal.size.width))\u{1B}[K".utf8), to: STDERR_FILENO)
    }

    /// Removes the progress bar from the terminal.
    public mutating func clear() {
        guard self.shown.take() != nil else { return }
        _ = WholeWrite.write(Array("\r\u{1B}[K".utf8), to: STDERR_FILENO)
    }
}

/// Returns a count with its noun, with an `s` unless the count is 1: `1 point`, `2 points`.
public func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
