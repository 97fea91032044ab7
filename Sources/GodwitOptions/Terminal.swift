private import Glibc
private import Synchronization

/// The terminal on standard input and output: keys one by one, a table drawn over itself.
public struct Terminal: Sendable {
    /// Hides the cursor and clears the screen.
    public static let start = "\u{1B}[?25l\u{1B}[2J"

    private let saved: termios
    private let output: Output
    /// Whether it goes on after it stood still: a shell has set the terminal for itself meanwhile.
    private static let stoodStill = Atomic<Bool>(false)

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
    /// a terminal; ``restore()`` undoes it. Ctrl-Z shows the cursor while the program stands still.
    public init(_ output: Output) {
        self.output = output
        if isatty(STDERR_FILENO) == 1 { ErrorOutput.standard.hold() }
        var settings = termios()
        tcgetattr(STDIN_FILENO, &settings)
        self.saved = settings
        self.takeKeys()
        Self.stoodStill.store(false, ordering: .relaxed)
        Self.standStillOnRequest()
    }

    private func takeKeys() {
        var settings = self.saved
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }

    /// Ctrl-Z is obeyed as by every program, but not with the cursor hidden. All of it may be done in a signal handler.
    private static func standStillOnRequest() {
        signal(SIGTSTP) { _ in
            let code = errno
            defer { errno = code }  // whoever is interrupted may be about to read it
            Terminal.writeAtOnce("\u{1B}[?25h")
            signal(SIGTSTP, SIG_DFL)
            raise(SIGTSTP)
            // The signal is held back while it is handled: here it stands still.
            var stop = sigset_t()
            sigemptyset(&stop)
            sigaddset(&stop, SIGTSTP)
            pthread_sigmask(SIG_UNBLOCK, &stop, nil)
            Terminal.standStillOnRequest()
            Terminal.stoodStill.store(true, ordering: .relaxed)
            Terminal.writeAtOnce("\u{1B}[?25l\u{1B}[2J")
        }
    }

    private static func writeAtOnce(_ text: StaticString) {
        _ = write(STDOUT_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }

    /// Puts the terminal back as it was.
    public func restore() {
        signal(SIGTSTP, SIG_DFL)
        var settings = self.saved
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        self.output.writeLast("\u{1B}[?25h\n")
        ErrorOutput.standard.release()
    }

    /// The keys pressed since the last look.
    public var keys: [Character] {
        if Self.stoodStill.exchange(false, ordering: .relaxed) { self.takeKeys() }
        var bytes = Self.typed(within: 0)
        guard !bytes.isEmpty else { return [] }
        var read = TerminalKeys.read(bytes)
        if read.isCut {
            bytes += Self.typed(within: 20)
            read = TerminalKeys.read(bytes)
        }
        return read.keys
    }

    /// What was typed, or is within so many milliseconds.
    private static func typed(within milliseconds: Int32) -> [UInt8] {
        var descriptor = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, milliseconds) > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        return count > 0 ? Array(buffer[..<count]) : []
    }

    /// Draws lines over what was there, as many as the terminal has beside the cursor's own.
    ///
    /// - Throws: As ``Output/write(_:)``.
    public func draw(_ lines: [String]) async throws {
        // A line is erased before it is written: behind a full one the cursor still stands on its last column.
        let text = lines.prefix(max(1, Self.size.height - 1)).map { "\u{1B}[K\($0)\n" }.joined()
        try await self.output.write("\u{1B}[H\(text)\u{1B}[J")
    }
}
