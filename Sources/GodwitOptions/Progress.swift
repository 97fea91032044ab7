private import Glibc

/// How far a long command is, in a line.
public struct ProgressBar: Hashable, Sendable {
    private let done: Int
    private let total: Int

    /// - Parameters:
    ///   - done: How much is done, 0…`total`.
    ///   - total: How much there is to do.
    public init(done: Int, total: Int) {
        self.done = done
        self.total = total
    }

    /// The bar, at most `width` characters.
    public func text(width: Int) -> String {
        let count = " \(self.done)/\(self.total)"
        let room = max(0, min(60, width - count.count - 3))
        let part = self.total > 0 ? Double(min(self.done, self.total)) / Double(self.total) : 1
        let filled = Int((part * Double(room)).rounded(.down))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: room - filled)
        return String("[\(bar)]\(count)".prefix(width))
    }
}

/// The bar of a command whose output goes elsewhere: on standard error, where that is a terminal.
public struct ErrorProgress {
    private let isShown: Bool
    private var shown: ProgressBar?

    /// - Parameter isWanted: Whether there is to be one; output on the same terminal would be torn by it.
    public init(isWanted: Bool) { self.isShown = isWanted && isatty(STDERR_FILENO) == 1 }

    /// Shows how far it is.
    public mutating func show(_ bar: ProgressBar) {
        guard self.isShown, bar != self.shown else { return }
        self.shown = bar
        _ = WholeWrite.write(Array("\r\(bar.text(width: Terminal.size.width))\u{1B}[K".utf8), to: STDERR_FILENO)
    }

    /// Takes the bar away.
    public mutating func clear() {
        guard self.shown.take() != nil else { return }
        _ = WholeWrite.write(Array("\r\u{1B}[K".utf8), to: STDERR_FILENO)
    }
}

/// Counts and their noun: `1 point`, `2 points`.
public func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
