private import SystemLibrary
private import Synchronization
private import TrackingCore
private import TrackingRuntime

/// A terminal in which a program reads single keys and redraws a table.
public struct Terminal: Sendable {
    /// The control sequence to print before the first table: it hides the cursor and clears the screen.
    public static let start = "\u{1B}[?25l\u{1B}[2J"

    private let saved: termios
    private let output: Output
    /// `true` after the program was stopped with Ctrl-Z and continued, until it has set the terminal's settings again.
    /// The shell may have changed these settings meanwhile.
    private static let wasStopped = Atomic<Bool>(false)
    /// `true` after standard input has ended. The program then no longer waits for keys, because an ended input always
    /// counts as readable.
    private static let hasInputEnded = Atomic<Bool>(false)
    private let waiter = Waiter()

    /// `true` if standard output is a terminal.
    public static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }
    /// `true` if standard input is a terminal, so that the user can be asked a question.
    public static var isInput: Bool { isatty(STDIN_FILENO) == 1 }
    /// `true` if output may have colours: `TERM` is set and not `dumb`, and `NO_COLOR` is not set (no-color.org).
    public static var hasColour: Bool {
        guard getenv("NO_COLOR") == nil, let term = getenv("TERM") else { return false }
        return String(cString: term) != "dumb"
    }

    /// The size of the terminal in columns and rows; 100 × 24 if standard output is not a terminal, or if its size is
    /// unknown.
    public static var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (100, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// The lines for standard error that are held back while the terminal shows a table: their number and the newest
    /// line. They are written when the table ends. `nil` if no line is held back.
    public static var heldErrors: (count: Int, newest: String)? { ErrorOutput.standard.held }

    /// Prepares the terminal for a table. Keys are read singly and without echo. Lines for standard error are held back
    /// if standard error is a terminal. ``restore()`` undoes both. Ctrl-Z stops the program and shows the cursor until
    /// the program continues.
    public init(_ output: Output) {
        self.output = output
        if isatty(STDERR_FILENO) == 1 { ErrorOutput.standard.hold() }
        var settings = termios()
        tcgetattr(STDIN_FILENO, &settings)
        self.saved = settings
        self.readSingleKeys()
        Self.wasStopped.store(false, ordering: .relaxed)
        Self.handleStopSignal()
    }

    private func readSingleKeys() {
        var settings = self.saved
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }

    /// Installs a signal handler for Ctrl-Z. It shows the cursor and stops the program. When the program continues, it
    /// hides the cursor and clears the screen. The handler uses only calls that are safe in a signal handler.
    private static func handleStopSignal() {
        signal(SIGTSTP) { _ in
            let code = errno
            defer { errno = code }  // the interrupted code may be about to read it
            Terminal.writeAtOnce("\u{1B}[?25h")
            signal(SIGTSTP, SIG_DFL)
            raise(SIGTSTP)
            // SIGTSTP is blocked while its handler runs. Unblocking it stops the program here.
            var stop = sigset_t()
            sigemptyset(&stop)
            sigaddset(&stop, SIGTSTP)
            pthread_sigmask(SIG_UNBLOCK, &stop, nil)
            Terminal.handleStopSignal()
            Terminal.wasStopped.store(true, ordering: .relaxed)
            Terminal.writeAtOnce("\u{1B}[?25l\u{1B}[2J")
        }
    }

    private static func writeAtOnce(_ text: StaticString) {
        _ = write(STDOUT_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }

    /// Restores the terminal's settings and the cursor, and writes the lines of standard error that were held back.
    public func restore() {
        signal(SIGTSTP, SIG_DFL)
        var settings = self.saved
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        self.output.writeLast("\u{1B}[?25h\n")
        ErrorOutput.standard.release()
    }

    /// Returns the keys that the user pressed since the last call; empty if there are none. Waits only for the rest of
    /// an incomplete escape sequence, at most 20 ms.
    public var keys: [Character] {
        if Self.wasStopped.exchange(false, ordering: .relaxed) { self.readSingleKeys() }
        var bytes = Self.typed(within: 0)
        guard !bytes.isEmpty else { return [] }
        var read = TerminalKeys.read(bytes)
        if read.isCut {
            bytes += Self.typed(within: 20)
            read = TerminalKeys.read(bytes)
        }
        return read.keys
    }

    /// Waits until a key is pressed, ``wake()`` is called, or the time `limit` has passed. Only one task at a time may
    /// call it.
    public func wait(for limit: Duration) async {
        let input = Self.hasInputEnded.load(ordering: .relaxed) ? nil : STDIN_FILENO
        _ = await self.waiter.next(until: DeviceClock.now.advanced(by: limit), descriptor: input)
    }

    /// Ends the present call of ``wait(for:)``, or the next call if there is none, because there is something new to
    /// draw.
    public func wake() { self.waiter.signal(.news) }

    /// Returns the bytes that the user typed, at most 64. Waits at most the given number of milliseconds for the first
    /// one.
    private static func typed(within milliseconds: Int32) -> [UInt8] {
        var descriptor = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, milliseconds) > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        if count == 0 || (count < 0 && ![EAGAIN, EINTR].contains(errno)) {
            self.hasInputEnded.store(true, ordering: .relaxed)
        }
        return count > 0 ? Array(buffer[..<count]) : []
    }

    /// Draws a table over the one drawn before, from the top of the screen. Draws at most one line fewer than the
    /// terminal has rows.
    ///
    /// - Throws: The errors of ``Output/write(_:)``.
    public func draw(_ lines: [String]) async throws {
        // Each line is erased before it is written: after a full line, the cursor is still on its last column.
        let text = lines.prefix(max(1, Self.size.height - 1)).map { "\u{1B}[K\($0)\n" }.joined()
        try await self.output.write("\u{1B}[H\(text)\u{1B}[J")
    }
}
