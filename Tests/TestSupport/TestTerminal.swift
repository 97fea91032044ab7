import Foundation
import Glibc
import Synchronization

/// A terminal that a test controls: the test types keys for a program and reads its screen.
///
/// The terminal supports the control sequences of a table that is redrawn in place: cursor home, erase to the end of
/// the line, and erase to the end of the screen. It separates colours from text, and ignores cursor shapes.
public final class TestTerminal: Sendable {
    private struct Screen {
        var lines: [String] = [""]
        var row = 0
        /// The beginning of a control sequence or character that the last read has cut off.
        var rest: [UInt8] = []
        var raw = ""
    }

    /// The path of the terminal device, which the program under test opens.
    public let path: String
    private let descriptor: Int32
    private let screen = Mutex(Screen())

    /// Creates a terminal of this size.
    public init(columns: UInt16 = 120, rows: UInt16 = 30) throws {
        // These calls do on Linux what posix_openpt, unlockpt and ptsname do, which Swift does not import.
        self.descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (unlocked, number): (Int32, Int32) = (0, 0)
        guard self.descriptor >= 0, ioctl(self.descriptor, 0x4004_5431, &unlocked) == 0,
            ioctl(self.descriptor, 0x8004_5430, &number) == 0
        else { throw TestSupportError("cannot open a pseudo-terminal: \(String(cString: strerror(errno)))") }
        self.path = "/dev/pts/\(number)"
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(self.descriptor, UInt(TIOCSWINSZ), &size)
        _ = fcntl(self.descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(self.descriptor) }

    /// Types keys on the terminal for the program.
    public func press(_ keys: String) {
        let bytes = Array(keys.utf8)
        _ = write(self.descriptor, bytes, bytes.count)
    }

    /// The lines that the screen shows now, without colours.
    public var lines: [String] {
        self.screen.withLock { screen in
            self.read(into: &screen)
            return screen.lines
        }
    }

    /// All output of the program so far, including control sequences.
    public var raw: String {
        self.screen.withLock { screen in
            self.read(into: &screen)
            return screen.raw
        }
    }

    /// Waits until the lines of the screen match a condition.
    ///
    /// - Throws: `TestSupportError` with the screen, if it does not match in time.
    public func wait(within limit: Duration = .seconds(60), for isThere: ([String]) -> Bool) async throws {
        let deadline = ContinuousClock.now + limit
        while true {
            let lines = self.lines
            if isThere(lines) { return }
            guard ContinuousClock.now < deadline else {
                throw TestSupportError(
                    "the screen did not show the expected text within \(limit). It shows:\n\(lines.joined(separator: "\n"))"
                )
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func read(into screen: inout Screen) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(self.descriptor, &buffer, buffer.count)
            guard count > 0 else { return }
            let text = screen.rest + buffer[..<count]
            // A sequence is cut if no letter ends it yet, and a character is cut if it is not valid yet.
            var end = text.count
            if let escape = text.lastIndex(of: 0x1B), !text[escape...].contains(where: { $0 >= 0x40 && $0 != 0x5B }) {
                end = escape
            }
            while end > 0, String(validating: text[..<end], as: UTF8.self) == nil { end -= 1 }
            screen.rest = Array(text[end...])
            let part = String(decoding: text[..<end], as: UTF8.self)
            screen.raw += part
            Self.draw(part, on: &screen)
        }
    }

    private static func draw(_ text: String, on screen: inout Screen) {
        var scalars = text.unicodeScalars[...]
        while let scalar = scalars.popFirst() {
            switch scalar {
            case "\u{1B}":
                let sequence = scalars.prefix { !("A"..."z" ~= $0) || $0 == "[" }
                scalars = scalars.dropFirst(sequence.count)
                self.control(scalars.popFirst() ?? " ", on: &screen)
            case "\r": break
            case "\n":
                screen.row += 1
                if screen.row == screen.lines.count { screen.lines.append("") }
                // Further text on this line is written from its beginning.
                screen.lines[screen.row] = ""
            default: screen.lines[screen.row].unicodeScalars.append(scalar)
            }
        }
    }

    private static func control(_ letter: Unicode.Scalar, on screen: inout Screen) {
        switch letter {
        case "H":
            screen.row = 0
            screen.lines[0] = ""
        case "J": screen.lines.removeSubrange((screen.row + 1)...)
        default: break
        }
    }
}
