import Logging
private import SystemLibrary
import TrackingCore

/// One line of a program's log as text: the message first, then its metadata.
struct LogLine {
    /// The form of log lines, which depends on their reader. It determines the beginning of each line.
    enum Form: Hashable, Sendable {
        /// The form for a terminal or a file: each line begins with its time and its level.
        case plain
        /// The form for the journal of systemd, which adds the time itself. Each line begins with its level as a number
        /// in angle brackets (sd-daemon(3)), so that `journalctl -p warning` finds it.
        case journal
    }

    let level: Logger.Level
    /// The name of the part of the program that logs, such as `godwit.recorder`.
    let label: String
    let message: String
    let metadata: Logger.Metadata

    /// Returns the log line as text with its line end. A value of the metadata is in quotation marks if it is empty or
    /// contains a space, a quotation mark or an equals sign. Control characters are escaped.
    ///
    /// - Parameters:
    ///   - form: The form of the line's beginning.
    ///   - time: The time of the message with its zone, as text.
    func text(_ form: Form, at time: String) -> String {
        let head = form == .plain ? "\(time) \(self.level) " : "<\(self.priority)>"
        let details = self.metadata.sorted { $0.key < $1.key }.map { key, value in
            " \(key.replacing(" ", with: "-"))=\(Self.quoted("\(value)"))"
        }
        return "\(head)\(self.label): \(self.message)\(details.joined())".printable + "\n"
    }

    private static func quoted(_ value: String) -> String {
        guard value.isEmpty || value.contains(where: { $0.isWhitespace || $0 == "\"" || $0 == "=" }) else {
            return value
        }
        return "\"\(value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    /// The level of the message as a severity number of syslog (RFC 5424), from 2 for `critical` to 7 for `debug` and
    /// `trace`.
    private var priority: Int {
        switch self.level {
        case .critical: 2
        case .error: 3
        case .warning: 4
        case .notice: 5
        case .info: 6
        case .debug, .trace: 7
        }
    }
}

extension LogLine.Form {
    /// Returns the form of log lines that are written to a file descriptor. The form is `journal` if the descriptor is
    /// the service's connection to the journal, which systemd describes in the variable `JOURNAL_STREAM`. Otherwise it
    /// is `plain`, for example after the descriptor was redirected.
    static func of(_ descriptor: Int32, _ environment: [String: String]) -> LogLine.Form {
        var status = stat()
        guard let stream = environment["JOURNAL_STREAM"], fstat(descriptor, &status) == 0 else { return .plain }
        return stream == "\(status.st_dev):\(status.st_ino)" ? .journal : .plain
    }
}

/// The handler that writes the log messages of a program to standard error, one line for each.
struct LineLogHandler: LogHandler {
    let label: String
    let form: LogLine.Form
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    init(label: String, level: Logger.Level, form: LogLine.Form) {
        self.label = label
        self.logLevel = level
        self.form = form
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var metadata = self.metadata.merging(event.metadata ?? [:]) { $1 }
        if let error = event.error { metadata["error"] = "\(error)" }
        let line = LogLine(level: event.level, label: self.label, message: "\(event.message)", metadata: metadata)
        ErrorOutput.standard.write(line.text(self.form, at: TimeText.zoned(TimeText.now)))
    }
}
