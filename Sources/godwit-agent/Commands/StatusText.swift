import GodwitOptions
import TrackingControl
import TrackingCore

/// Converts the state of an agent to text for people.
struct StatusText {
    private let status: AgentStatus
    private let units: DisplayUnits

    init(_ status: AgentStatus, units: DisplayUnits) {
        self.status = status
        self.units = units
    }

    /// The state of the agent as lines of text for people. Each line has a name and a value, such as the battery and
    /// its charge.
    var lines: [String] {
        let status = self.status
        let common: [(String, String)] = [
            ("agent", status.isOn ? "on" : "off"), ("connection", self.connection),
            ("recorders", self.recorders), ("mode", status.mode.rawValue),
            ("receiver", self.receiver),
            ("queued", self.describe(status.queue)), ("dropped", "\(status.dropped)"),
            ("log", self.log),
            ("quarantined", "\(status.quarantined)"), ("last attempt", self.ago(status.lastAttempt)),
            ("acknowledged", self.ago(status.lastAcknowledged)), ("last fix", self.fix),
            ("battery", status.battery.map { "\(($0 * 100).text(digits: 0)) %" } ?? "unknown"),
            ("trip", status.trip.map { Self.describe($0, self.units) } ?? "none"),
        ]
        return (common + status.trackables.map { (Self.plain($0.id.rawValue), self.describe($0)) }).map { name, value in
            name + String(repeating: " ", count: max(1, 14 - name.count)) + Self.plain(value)
        }
    }

    private var connection: String {
        let connection = self.status.connection
        let since = connection.since.map { ", for \(Self.span(self.age($0)))" } ?? ""
        let reason = connection.reason.map { ": \($0)" } ?? ""
        if self.isForwarding { return "sends to \(connection.broker), without a broker" }
        return (connection.isUp ? "connected to " : "not connected to ") + connection.broker + since + reason
    }

    private var receiver: String {
        let resolution = self.status.sensorResolution?.argumentText ?? "not asked"
        guard let until = self.status.receiverAsleepUntil else { return resolution }
        let isToday = until.since(self.status.time) < .seconds(86_400)
        let time = isToday ? TimeText.local(until).prefix(5) : TimeText.localDate(until).prefix(16)
        return "\(resolution), asleep until \(time)"
    }

    /// `true` if the agent sends its records to the server of `--forward`, whose address does not begin as that of a
    /// broker.
    private var isForwarding: Bool {
        let address = self.status.connection.broker
        return !address.isEmpty && !address.hasPrefix("mqtt")
    }

    private var recorders: String {
        let names = self.status.recorders.map(\.rawValue)
        let server = self.isForwarding ? "server" : "broker"
        return names.isEmpty ? "none named: the \(server) acknowledges records" : names.joined(separator: ", ")
    }

    private var log: String {
        let lost = self.status.unwritten
        let count = lost == 0 ? "" : "; \(counted(lost, "record")) could not be written since the start"
        return (self.status.writeFailure.map { "cannot be written: \($0)" } ?? "writable") + count
    }

    private var fix: String {
        guard let fix = self.status.lastFix else { return "none" }
        var parts = ["\(fix.coordinate.latitude.text(digits: 6)),\(fix.coordinate.longitude.text(digits: 6))"]
        if let accuracy = fix.accuracyHorizontal { parts.append("accuracy \(self.units.length(Meters(accuracy)))") }
        if let altitude = fix.altitude { parts.append("altitude \(self.units.length(Meters(altitude)))") }
        if let speed = fix.speed { parts.append(self.units.speed(speed)) }
        return (parts + [self.ago(fix.time)]).joined(separator: ", ")
    }

    private func describe(_ trackable: AgentStatus.Trackable) -> String {
        var parts = [trackable.state.rawValue]
        if let inForce = trackable.resolution {
            let why = [
                inForce.isNear ? "near" : "far", "\(inForce.subscribers) watching",
                inForce.isLowBattery ? "battery low" : nil,
            ]
            parts.append("\(inForce.resolution.argumentText) (\(why.compactMap { $0 }.joined(separator: ", ")))")
        }
        if let place = trackable.destination {
            parts.append("to \(place.latitude.text(digits: 5)),\(place.longitude.text(digits: 5))")
        }
        parts.append("\(counted(trackable.queue.points, "point")) queued")
        if let reason = trackable.refusal {
            parts.append("\(trackable.state == .failed ? "because" : "refused"): \(reason)")
        }
        return parts.joined(separator: "; ")
    }

    private func describe(_ queue: SpoolAmount) -> String {
        let counts = [
            counted(queue.points, "point"), counted(queue.trips, "trip"), counted(queue.events, "event"),
            Self.size(queue.bytes),
        ]
        return counts.joined(separator: ", ") + (queue.oldest.map { "; the oldest \(self.ago($0))" } ?? "")
    }

    /// Returns a trip as text for people: mode of travel, state, duration and distance.
    static func describe(_ trip: Trip, _ units: DisplayUnits = .metric) -> String {
        let state = trip.state == .active ? "under way" : "ended"
        return self.plain(
            "\(trip.mode), \(state), \(self.span(.seconds(trip.duration))), \(units.distance(Meters(trip.distance)))"
        )
    }

    private func age(_ time: UnixTime) -> Duration { max(.zero, self.status.time.since(time)) }

    private func ago(_ time: UnixTime?) -> String { time.map { "\(Self.span(self.age($0))) ago" } ?? "never" }

    /// Returns a duration as text: its largest unit and the next smaller one, such as `2 h 5 min`. A duration below one
    /// minute is shown in seconds only. Fractions of a second are dropped.
    static func span(_ duration: Duration) -> String {
        let seconds = Int64(max(0, min(1e12, duration.inSeconds)))
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min \(seconds % 60) s"
        case ..<86_400: return "\(seconds / 3600) h \(seconds % 3600 / 60) min"
        default: return "\(seconds / 86_400) d \(seconds % 86_400 / 3600) h"
        }
    }

    /// Returns a number of bytes as text in B, KB (1,000 bytes) or MB (1,000,000 bytes).
    static func size(_ bytes: Int) -> String {
        switch bytes {
        case ..<1000: "\(bytes) B"
        case ..<1_000_000: "\((Double(bytes) / 1e3).text(digits: 1)) KB"
        default: "\((Double(bytes) / 1e6).text(digits: 1)) MB"
        }
    }

    /// Returns the text with control characters escaped, because they could move the cursor of the terminal. Names and
    /// reasons may come from other programs.
    static func plain(_ text: String) -> String { text.printable }
}
