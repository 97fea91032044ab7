private import SystemLibrary
import TrackingCore
import TrackingRuntime

/// Opens the serial lines to which GPS receivers are connected.
enum SerialLine {
    /// The supported speeds of serial lines, in bits a second.
    static let speeds: Set<Int> = Set(SerialLine.constants.keys)

    private static let constants: [Int: speed_t] = [
        1200: speed_t(B1200), 2400: speed_t(B2400), 4800: speed_t(B4800), 9600: speed_t(B9600), 19_200: speed_t(B19200),
        38_400: speed_t(B38400), 57_600: speed_t(B57600), 115_200: speed_t(B115200), 230_400: speed_t(B230400),
        460_800: speed_t(B460800), 921_600: speed_t(B921600),
    ]

    /// Opens a serial line for reading and writing: raw, 8 data bits, no parity, one stop bit, no flow control.
    static func open(path: String, speed: Int, name: String, waiter: Waiter) throws(TrackingError) -> ByteChannel {
        let descriptor = SystemLibrary.open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            let advice = errno == EACCES ? "Add this user to the group of the device (often dialout)" : ""
            throw SystemError.inputUnreadable(name, errno, advice: advice)
        }
        let channel = ByteChannel(descriptor, name: name, waiter: waiter)
        var settings = termios()
        guard tcgetattr(descriptor, &settings) == 0 else { throw SystemError.inputUnreadable(name, errno) }
        cfmakeraw(&settings)
        settings.c_cflag |= tcflag_t(CLOCAL | CREAD)
        settings.c_cflag &= ~(tcflag_t(CSTOPB) | tcflag_t(CRTSCTS) | tcflag_t(PARENB) | tcflag_t(HUPCL))
        cfsetspeed(&settings, Self.constants[speed] ?? speed_t(B9600))
        guard tcsetattr(descriptor, TCSANOW, &settings) == 0 else { throw SystemError.inputUnreadable(name, errno) }
        // The bytes received at the previous speed are noise.
        tcflush(descriptor, TCIFLUSH)
        return channel
    }
}
