private import Glibc

/// The terminal on standard input and output: keys one by one, a table drawn over itself.
public struct Terminal: Sendable {
    /// Hides the cursor and clears the screen.
    public static let start = "\u{1B}[?25l\u{1B}[2J"

    private let saved: termios
    private let output: Output

    /// Whether standard output is a terminal.
    public static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }
    /// Whether standard input is a terminal, and somebody can be asked.
    public static var isInput: Bool { isatty(STDIN_FILENO) == 1 }
    /// Whether the terminal takes colours; see no-color.org.
    public static var hasColour: Bool {
        guard getenv("NO_COLOR") == nil, let term = getenv("TERM") else { return false }
        return String(cString: term) != "dumb"
    }

    /// The size in columns and rows.
    public static var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (100, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// What was written to standard error since the terminal was taken and waits until it is restored, for it would be written
    /// across what is drawn: how many lines, and the newest. `nil`: nothing, or standard error goes elsewhere.
    public static var heldErrors: (count: Int, newest: String)? { ErrorOutput.standard.held }

    /// Takes keys without waiting for a line and without showing them, and holds back what goes to standard error where that is
    /// a terminal; ``restore()`` undoes it.
    public init(_ output: Output) {
        self.output = output
        if isatty(STDERR_FILENO) == 1 { ErrorOutput.standard.hold() }
        var settings = termios()
        tcgetattr(STDIN_FILENO, &settings)
        self.saved = settings
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }

    /// Puts the terminal back as it was.
    public func restore() {
        var settings = self.saved
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        self.output.writeLast("\u{1B}[?25h\n")
        ErrorOutput.standard.release()
    }

    /// The keys pressed since the last look.
    public var keys: [Character] {
        var descriptor = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, 0) > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        return count > 0 ? Array(String(decoding: buffer[..<count], as: UTF8.self)) : []
    }

    /// Draws lines over what was there.
    ///
    /// - Throws: As ``Output/write(_:)``.
    public func draw(_ lines: [String]) async throws {
        try await self.output.write("\u{1B}[H" + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
    }
}
