import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingSubscriber

/// The output formats of `godwit watch`: text for people, and JSON, GeoJSON and CSV for programs.
enum WatchFormat: String, ExpressibleByArgument, CaseIterable {
    case text, json, geojson, csv
}

/// Converts the events that `godwit watch` receives to text in one of its output formats.
struct WatchPrinter {
    let format: WatchFormat
    let printsSkipped: Bool
    /// `true` for a column of CSV with the road of each position.
    var showsRoads = false
    /// The units in which text for people shows speeds and distances. Formats for programs always use metres and metres
    /// per second.
    var units = DisplayUnits.metric

    /// The text to print before the first event: the line with the column names in the format CSV; `nil` in other
    /// formats.
    var header: String? { self.format == .csv ? WatchRow.header + (self.showsRoads ? ",road" : "") + "\n" : nil }

    /// Returns an event as text in the selected format, with its line end; `nil` if the format does not show this kind
    /// of event.
    func text(_ event: SubscriberEvent, receivedAt: UnixTime) -> String? {
        switch self.format {
        case .text: self.line(event, receivedAt).map { $0 + "\n" }
        case .json: self.json(event, receivedAt)?.printableJSON
        case .geojson: self.features(event).map { "\u{1E}\($0.printableJSON)\n" }.joinedOrNil
        case .csv:
            self.rows(event).map { $1.text($0, receivedAt: receivedAt, showsRoads: self.showsRoads) }.joinedOrNil
        }
    }

    /// One position of a received update, as it is printed: the update's own position, or a skipped point that came
    /// with it.
    private struct Point {
        var location: Location
        /// The kind of the position: measured or predicted. A skipped point, which had no update of its own, is always
        /// measured.
        var kind = LocationUpdate.Kind.actual
        var isSkipped = true
        var isLate: Bool
        /// The match of the position with a road; `nil` for a position as its publisher published it.
        var enhancement: Enhancement?
    }

    /// Returns the positions to print for a `location` event, in order of time. The skipped points, which had no update
    /// of their own, come first if `--skipped` is given. The update's own position comes last. Other kinds of events
    /// have none.
    private func points(_ event: SubscriberEvent) -> [(TrackableID, Point)] {
        guard case .location(let id, let received) = event else { return [] }
        return self.points(received).map { (id, $0) }
    }

    private func points(_ received: ReceivedUpdate) -> [Point] {
        let skipped = self.printsSkipped ? received.skipped : []
        return skipped.map { Point(location: $0, isLate: received.isLate) } + [
            Point(
                location: received.update.location, kind: received.update.kind, isSkipped: false,
                isLate: received.isLate, enhancement: received.update.enhancement)
        ]
    }

    // MARK: - One line for people

    private func line(_ event: SubscriberEvent, _ receivedAt: UnixTime) -> String? {
        func head(_ id: TrackableID) -> String { "\(TimeText.local(receivedAt)) \(id.rawValue.printable)" }
        switch event {
        case .location(let id, let received):
            return self.lines("\(head(id)) location", received, receivedAt)
        case .locationCleared(let id):
            return "\(head(id)) location unknown"
        case .raw(let id, let received):
            return self.lines("\(head(id)) raw", received, receivedAt)
        case .state(let id, let state, let reason):
            return "\(head(id)) state \(state.rawValue)" + (reason.map { " (\("\($0)".printable))" } ?? "")
        case .presence(let id, let presence):
            let seen = presence.lastSeen.map { ", last seen \(TimeText.rfc3339($0))" } ?? ""
            let metadata = presence.metadata.map { ", metadata \($0.printable)" } ?? ""
            return "\(head(id)) publisher \(presence.status.rawValue)\(seen)\(metadata)"
        case .resolution(let id, let inForce):
            guard let inForce else { return "\(head(id)) resolution unknown" }
            let way = inForce.approach.map { ", \(Self.describe($0, self.units))" } ?? ""
            return "\(head(id)) resolution \(Self.describe(inForce))\(way)"
        case .trip(let id, let trip):
            guard let trip else { return "\(head(id)) trip unknown" }
            let end = trip.endedBy.map { " (\($0.rawValue))" } ?? ""
            return "\(head(id)) trip \(trip.state.rawValue) \(Self.describe(trip, self.units))\(end)"
        case .event(let id, let event):
            let place = event.location.map { " at \(Self.place($0))" } ?? ""
            return "\(head(id)) event \(Self.describe(event))\(place)"
        case .estimate(let id, let estimate):
            return "\(head(id)) estimate \(estimate.map { Self.describe($0, self.units) } ?? "unknown")"
        case .publishedLocation, .tripRecorded, .journey, .positionsKept, .silent, .refused,
            .enhancedRefused, .publishRefused, .badMessage, .connection:
            return nil
        }
    }

    private func lines(_ head: String, _ received: ReceivedUpdate, _ receivedAt: UnixTime) -> String {
        self.points(received).map { point in
            let notes = (point.isSkipped ? " skipped" : "") + (point.isLate ? " late" : "")
            let road = point.enhancement.map { " \(Self.road($0))" } ?? ""
            return "\(head) \(self.describe(point.location, point.kind, receivedAt))\(road)\(notes)"
        }.joined(separator: "\n")
    }

    private static func place(_ point: Location) -> String {
        "\(point.coordinate.latitude.text(digits: 6)),\(point.coordinate.longitude.text(digits: 6))"
    }

    private func describe(_ point: Location, _ kind: LocationUpdate.Kind, _ now: UnixTime) -> String {
        var parts = [Self.place(point)]
        if let speed = point.speed { parts.append(self.units.speed(speed)) }
        if let bearing = point.bearing { parts.append("\(bearing.text(digits: 0))°") }
        parts.append("age \(now.since(point.time).inSeconds.text(digits: 1)) s")
        if let seq = point.seq { parts.append("#\(seq)") }
        if kind == .predicted { parts.append("predicted") }
        return parts.joined(separator: " ")
    }

    static func describe(_ inForce: ResolutionInForce) -> String {
        let why = [
            inForce.isNear ? "near" : "far", "\(inForce.subscribers) watching",
            inForce.isLowBattery ? "battery low" : nil, inForce.state.rawValue,
        ]
        return "\(inForce.resolution.argumentText) (\(why.compactMap { $0 }.joined(separator: ", ")))"
    }

    /// Returns the destination of a trackable and the remaining way to it as text: `destination 52.660000,-8.630000 in
    /// 4.2 km 0:06:10`.
    static func describe(_ approach: Approach, _ units: DisplayUnits) -> String {
        let place = approach.destination
        let way = Self.way(approach, units)
        return "destination \(place.latitude.text(digits: 6)),\(place.longitude.text(digits: 6))"
            + (way.isEmpty ? "" : " in \(way)")
    }

    /// Returns the remaining way to a destination as text, as far as it is known: `4.2 km 0:06:10`.
    static func way(_ approach: Approach, _ units: DisplayUnits) -> String {
        let parts = [
            approach.distance.map { units.distance($0) }, approach.timeToArrival.map { Self.clock($0.inSeconds) },
        ]
        return parts.compactMap { $0 }.joined(separator: " ")
    }

    // MARK: - For programs

    private func json(_ event: SubscriberEvent, _ receivedAt: UnixTime) -> String? {
        switch event {
        case .location(let id, let received):
            return self.points(event).map { _, point in
                Self.object("location", id, receivedAt) {
                    $0.append(("location", Self.feature(point.location)))
                    $0.append(("type", Self.quoted(point.kind.rawValue)))
                    if let enhancement = point.enhancement { $0.append(("enhanced", Self.json(enhancement))) }
                    $0.append(("skipped", "\(point.isSkipped)"))
                    $0.append(("late", "\(point.isLate)"))
                    $0.append(("retained", "\(received.isRetained)"))
                }
            }.joinedOrNil
        case .locationCleared(let id):
            return Self.object("location", id, receivedAt, message: nil)
        case .raw(let id, let received):
            return self.points(received).map { point in
                Self.object("raw", id, receivedAt) {
                    $0.append(("location", Self.feature(point.location)))
                    if point.isSkipped { $0.append(("skipped", "true")) }
                    $0.append(("late", "\(point.isLate)"))
                }
            }.joinedOrNil
        case .state(let id, let state, let reason):
            return Self.object("state", id, receivedAt) {
                $0.append(("state", Self.quoted(state.rawValue)))
                if let reason { $0.append(("reason", Self.quoted(reason.message))) }
            }
        case .presence(let id, let presence):
            return Self.object("presence", id, receivedAt) {
                $0.append(("status", Self.quoted(presence.status.rawValue)))
                if let seen = presence.lastSeen { $0.append(("lastSeen", "\(seen.seconds)")) }
                if let metadata = presence.metadata { $0.append(("metadata", Self.quoted(metadata))) }
            }
        case .resolution(let id, let inForce):
            return Self.object("resolution", id, receivedAt, message: inForce.map { MessageCodec.encode($0) })
        case .trip(let id, let trip):
            return Self.object("trip", id, receivedAt, message: trip.map { MessageCodec.encode($0) })
        case .event(let id, let event):
            return Self.object("event", id, receivedAt, message: MessageCodec.encode(event))
        case .estimate(let id, let estimate):
            return Self.object("estimate", id, receivedAt, message: estimate.map { MessageCodec.json(of: $0) })
        case .publishedLocation, .tripRecorded, .journey, .positionsKept, .silent, .refused,
            .enhancedRefused, .publishRefused, .badMessage, .connection:
            return nil
        }
    }

    /// Returns a received message as one JSON object with its line end. The object has the members `event`, `trackable`
    /// and `receivedAt`, and the members of the message if there is one.
    private static func object(
        _ event: String, _ id: TrackableID, _ receivedAt: UnixTime, message: [UInt8]?
    ) -> String {
        let head = Self.object(event, id, receivedAt) { _ in }
        guard let message else { return head }
        return head.dropLast(2) + "," + String(decoding: message, as: UTF8.self).dropFirst() + "\n"
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

    private static func json(_ enhancement: Enhancement) -> String {
        String(decoding: LocationCodec.encodeEnhancement(enhancement), as: UTF8.self)
    }

    /// Returns the GeoJSON Features for an event with a position, a trip or a tracking event; empty for other events.
    private func features(_ event: SubscriberEvent) -> [String] {
        switch event {
        case .trip(let id, let trip?): [Self.feature(id, trip)]
        case .event(let id, let event): [Self.feature(id, event)]
        default:
            self.points(event).map { Self.feature($0, $1.location, $1.kind, road: $1.enhancement?.road) }
        }
    }

    private func rows(_ event: SubscriberEvent) -> [(TrackableID, WatchRow)] {
        switch event {
        case .trip(let id, let trip?): [(id, WatchRow(trip))]
        case .event(let id, let event): [(id, WatchRow(event))]
        default:
            self.points(event).map {
                var row = WatchRow($1.location, kind: $1.kind, isSkipped: $1.isSkipped, isLate: $1.isLate)
                row.road = $1.enhancement?.road
                return ($0, row)
            }
        }
    }

    /// Returns a text as a JSON string in quotation marks, with the necessary escapes.
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
    /// The texts of the array joined without a separator; `nil` if the array is empty.
    fileprivate var joinedOrNil: String? { self.isEmpty ? nil : self.joined() }
}
