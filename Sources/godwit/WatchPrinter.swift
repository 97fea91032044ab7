import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingSubscriber

/// How `godwit watch` prints.
enum WatchFormat: String, ExpressibleByArgument, CaseIterable {
    case text, json, geojson, csv
}

/// Turns events into lines; a value without output of its own.
struct WatchPrinter {
    let format: WatchFormat
    let printsSkipped: Bool
    /// What people read; what programs read is in metres and seconds.
    var units = DisplayUnits.metric

    static let csvHeader =
        "trackable,time,latitude,longitude,altitude,accuracy,speed,bearing,battery,stream,seq,skipped,late,receivedAt"

    /// What comes before the first event.
    var header: String? { self.format == .csv ? Self.csvHeader + "\n" : nil }

    /// An event as text, line end included; `nil` when this format does not show it.
    func text(_ event: SubscriberEvent, receivedAt: UnixTime) -> String? {
        switch self.format {
        case .text: self.line(event, receivedAt).map { $0 + "\n" }
        case .json: self.json(event, receivedAt)
        case .geojson: self.points(event).map { id, point, _, _ in self.sequence(id, point) }.joinedOrNil
        case .csv: self.points(event).map { self.csv($0, $1, $2, $3, receivedAt) }.joinedOrNil
        }
    }

    /// The positions of an event in order, skipped ones first where they are wanted: id, point, skipped, late.
    private func points(_ event: SubscriberEvent) -> [(TrackableID, Location, Bool, Bool)] {
        guard case .location(let id, let received) = event else { return [] }
        let skipped = self.printsSkipped ? received.skipped : []
        return skipped.map { (id, $0, true, received.isLate) } + [
            (id, received.update.location, false, received.isLate)
        ]
    }

    // MARK: - One line for people

    private func line(_ event: SubscriberEvent, _ receivedAt: UnixTime) -> String? {
        let clock = TimeText.local(receivedAt)
        switch event {
        case .location(_, let received):
            return self.points(event).map { id, point, isSkipped, _ in
                let notes = (isSkipped ? " skipped" : "") + (received.isLate ? " late" : "")
                return "\(clock) \(id) location \(self.describe(point, receivedAt))\(notes)"
            }.joined(separator: "\n")
        case .raw(let id, let received):
            return "\(clock) \(id) raw \(self.describe(received.update.location, receivedAt))"
        case .state(let id, let state, let reason):
            return "\(clock) \(id) state \(state.rawValue)" + (reason.map { " (\($0))" } ?? "")
        case .presence(let id, let presence):
            let seen = presence.lastSeen.map { ", last seen \(TimeText.rfc3339($0))" } ?? ""
            return "\(clock) \(id) publisher \(presence.status.rawValue)\(seen)"
        case .resolution(let id, let inForce):
            guard let inForce else { return "\(clock) \(id) resolution unknown" }
            return "\(clock) \(id) resolution \(Self.describe(inForce))"
        case .refused, .publishRefused, .badMessage, .connection:
            return nil
        }
    }

    private func describe(_ point: Location, _ now: UnixTime) -> String {
        var parts = ["\(point.coordinate.latitude.text(digits: 6)),\(point.coordinate.longitude.text(digits: 6))"]
        if let speed = point.speed { parts.append(self.units.speed(speed)) }
        if let bearing = point.bearing { parts.append("\(bearing.text(digits: 0))°") }
        parts.append("age \(now.since(point.time).inSeconds.text(digits: 1)) s")
        if let seq = point.seq { parts.append("#\(seq)") }
        return parts.joined(separator: " ")
    }

    static func describe(_ inForce: ResolutionInForce) -> String {
        let why = [
            inForce.isNear ? "near" : "far", "\(inForce.subscribers) watching",
            inForce.isLowBattery ? "battery low" : nil, inForce.state.rawValue,
        ]
        return "\(inForce.resolution.argumentText) (\(why.compactMap { $0 }.joined(separator: ", ")))"
    }

    // MARK: - For programs

    private func json(_ event: SubscriberEvent, _ receivedAt: UnixTime) -> String? {
        switch event {
        case .location(let id, let received):
            return self.points(event).map { _, point, isSkipped, isLate in
                Self.object("location", id, receivedAt) {
                    $0.append(("location", Self.feature(point)))
                    $0.append(("type", Self.quoted(received.update.kind.rawValue)))
                    $0.append(("skipped", "\(isSkipped)"))
                    $0.append(("late", "\(isLate)"))
                    $0.append(("retained", "\(received.isRetained)"))
                }
            }.joinedOrNil
        case .raw(let id, let received):
            return Self.object("raw", id, receivedAt) {
                $0.append(("location", Self.feature(received.update.location)))
                $0.append(("late", "\(received.isLate)"))
            }
        case .state(let id, let state, let reason):
            return Self.object("state", id, receivedAt) {
                $0.append(("state", Self.quoted(state.rawValue)))
                if let reason { $0.append(("reason", Self.quoted(reason.message))) }
            }
        case .presence(let id, let presence):
            return Self.object("presence", id, receivedAt) {
                $0.append(("status", Self.quoted(presence.status.rawValue)))
                if let seen = presence.lastSeen { $0.append(("lastSeen", "\(seen.seconds)")) }
            }
        case .resolution(let id, let inForce):
            let payload = inForce.map {
                String(decoding: MessageCodec.encode($0), as: UTF8.self).dropFirst().dropLast()
            }
            let head = Self.object("resolution", id, receivedAt) { _ in }
            return payload.map { head.dropLast(2) + "," + $0 + "}\n" } ?? head
        case .refused, .publishRefused, .badMessage, .connection:
            return nil
        }
    }

    private static func object(
        _ event: String, _ id: TrackableID, _ receivedAt: UnixTime, _ more: (inout [(String, String)]) -> Void
    ) -> String {
        var members = [
            ("event", self.quoted(event)), ("trackable", self.quoted(id.rawValue)),
            ("receivedAt", "\((receivedAt.seconds * 1000).rounded() / 1000)"),
        ]
        more(&members)
        return "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}\n"
    }

    private static func feature(_ point: Location) -> String {
        String(decoding: LocationCodec.encodeFeature(point), as: UTF8.self)
    }

    /// A GeoJSON text sequence: a record separator before each text (RFC 8142).
    private func sequence(_ id: TrackableID, _ point: Location) -> String {
        "\u{1E}{\"id\":\(Self.quoted(id.rawValue)),\(Self.feature(point).dropFirst())\n"
    }

    private func csv(
        _ id: TrackableID, _ point: Location, _ isSkipped: Bool, _ isLate: Bool, _ receivedAt: UnixTime
    ) -> String {
        let name =
            id.rawValue.contains { ",\"\n\r".contains($0) }
            ? "\"\(id.rawValue.replacing("\"", with: "\"\""))\"" : id.rawValue
        let numbers = [point.altitude, point.accuracyHorizontal, point.speed, point.bearing, point.batteryLevel]
        let fields =
            [name, TimeText.rfc3339(point.time), "\(point.coordinate.latitude)", "\(point.coordinate.longitude)"]
            + numbers.map { $0.map { "\($0)" } ?? "" }
            + [
                point.stream?.rawValue ?? "", point.seq.map { "\($0)" } ?? "", "\(isSkipped)", "\(isLate)",
                TimeText.rfc3339(receivedAt),
            ]
        return fields.joined(separator: ",") + "\n"
    }

    /// A JSON string.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\u{0}"..."\u{1F}":
                let hex = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

extension [String] {
    /// All in one, or `nil` for none.
    fileprivate var joinedOrNil: String? { self.isEmpty ? nil : self.joined() }
}
