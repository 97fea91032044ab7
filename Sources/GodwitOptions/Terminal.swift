private import Glibc

/// The terminal on standard input and output: keys one by one, a table drawn over itself.
public struct Terminal: Sendable {
    private let saved: termios

    /// Whether standard output is a terminal.
    public static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }
    /// Whether standard input is a terminal, and somebody can be asked.
    public static var isInput: Bool { isatty(STDIN_FILENO) == 1 }
    /// Whether the terminal takes colours; see no-color.org.
    public static var hasColour: Bool {
        guard getenv("NO_COLOR") == nil, let term = getenv("TERM") else { return false }
        return String(cString: term) != "dumb"
    }

    /// The width in columns.
    public static var width: Int {
        var size = winsize()
        return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 100
    }

    /// Takes keys without waiting for a line and without showing them; ``restore()`` undoes it.
    public init() {
        var settings = termios()
        tcgetattr(STDIN_FILENO, &settings)
        self.saved = settings
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        Self.write("\u{1B}[?25l\u{1B}[2J")
    }

    /// Puts the terminal back as it was.
    public func restore() {
        var settings = self.saved
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        Self.write("\u{1B}[?25h\n")
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
    public func draw(_ lines: [String]) {
        Self.write("\u{1B}[H" + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
    }

    /// Writes everything, at once; a closed pipe ends the program, as for any filter.
    public static func write(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}
