import TrackingCore
import TrackingHistory
import TrackingPublisher

/// Decodes one OwnTracks message into records: a position, events, or none.
struct OwnTracksMessage {
    /// The value of the member `_via` in messages that a Godwit bridge republished.
    static let mark = "godwit"

    let receivedAt: UnixTime
    let secret: OwnTracksSecret?
    let countsFrom2001: Bool

    /// Returns the records of an OwnTracks message. A message without data to record, such as a command to a phone, has
    /// none. A message that a Godwit bridge republished has none either.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - text: The source text of the message.
    /// - Throws: `BadPiece` if the message is invalid.
    func records(_ message: JSONValue, _ text: ArraySlice<UInt8>) throws(BadPiece) -> [RecordDraft] {
        guard let members = message.object else { throw BadPiece("the message is not a JSON object") }
        guard let type = members["_type"]?.text else { throw BadPiece("the message has no _type") }
        // A bridge republished the message, so its position is recorded already.
        guard members["_via"]?.text != Self.mark else { return [] }
        switch type {
        case "location": return [try self.location(members, text)]
        case "encrypted":
            let (message, text) = try self.decrypted(members)
            return try self.records(message, text)
        case "transition": return [try self.transition(members)]
        case "waypoint": return [self.event(.waypoint, members)]
        case "waypoints":
            return (members["waypoints"]?.list ?? []).compactMap(\.object).map { self.event(.waypoint, $0) }
        case "lwt": return [self.event(.will, members)]
        case "card": return [self.event(.card, members)]
        case "status": return [self.event(.status, members)]
        case "steps": return [self.event(.steps, members)]
        case "beacon": return [self.event(.beacon, members)]
        // These messages request something of the server, or describe the app's configuration, passwords included.
        case "cmd", "request", "configuration", "dump": return []
        default: throw BadPiece("the message's _type is unknown")
        }
    }

    private func decrypted(
        _ members: [String: JSONValue]
    ) throws(BadPiece) -> (message: JSONValue, text: ArraySlice<UInt8>) {
        guard let secret = self.secret else {
            throw BadPiece("the message is encrypted, and the gateway has no key for this trackable")
        }
        guard let data = members["data"]?.text, let plain = secret.open(base64: data) else {
            throw BadPiece("the message is encrypted with another key, or damaged")
        }
        guard let message = try? JSONValue(json: plain) else { throw BadPiece("the decrypted message is not JSON") }
        guard message["_type"]?.text != "encrypted" else { throw BadPiece("the message is encrypted twice") }
        return (message, plain[...])
    }

    // MARK: Points

    private func location(
        _ members: [String: JSONValue], _ text: ArraySlice<UInt8>
    ) throws(BadPiece) -> RecordDraft {
        guard (members["acc"]?.lenientNumber ?? 0) >= 0 else {
            return self.event(.noPosition, members)
        }
        var draft = PointDraft()
        let isAltitudeKnown = (members["vac"]?.lenientNumber ?? 0) >= 0
        let source = (try? JSONSource(object: text)) ?? JSONSource(members)
        for (name, text) in source.members.sorted(by: { $0.key < $1.key }) {
            guard let value = members[name] else {
                if !Self.isKnown(name) { draft.addExtra(name, source: text) }  // null
                continue
            }
            switch name {
            case "_type", "topic": break
            case "tst": draft.set(.time, to: self.moment(value).map { .number($0.seconds) } ?? value)
            case "alt", "vac":
                if isAltitudeKnown { draft.set(name == "alt" ? .altitude : .accuracyVertical, to: value) }
            case "ssid", "bssid": draft.addExtra(name.uppercased(), source: text)
            case "source" where ["gps", "network"].contains(value.text): draft.set(.source, to: value)
            case "motionactivities":
                let motion = PhoneMotion(value)
                draft.set(.motion, to: motion.known)
                if motion.hasUnknown { draft.addExtra(name, source: text) }
            default:
                if let meaning = Self.names[name] {
                    draft.set(meaning, to: value)
                } else {
                    draft.addExtra(name, source: text)
                }
            }
        }
        do throws(BadPoint) {
            let kind = [members["_id"]?.text, members["t"]?.text].compactMap { $0 }.joined(separator: " ")
            return RecordDraft(point: try draft.location(), discriminator: kind)
        } catch {
            throw BadPiece(error.reason)
        }
    }

    private static let names: [String: PointDraft.Meaning] = [
        "lat": .latitude, "lon": .longitude, "acc": .accuracyHorizontal, "vel": .kilometresPerHour, "cog": .bearing,
        "batt": .batteryPercent,
    ]

    /// Returns `true` for a member of an OwnTracks location that is left out when its value is `null`. Any other member
    /// with the value `null` becomes part of the point's `extra`.
    private static func isKnown(_ name: String) -> Bool {
        self.names[name] != nil || ["_type", "topic", "tst", "alt", "vac", "motionactivities"].contains(name)
    }

    /// Returns the time in a member of an OwnTracks message; `nil` if it is invalid. From senders that count from the
    /// year 2001, a time before 2010 is converted.
    private func moment(_ value: JSONValue) -> UnixTime? {
        guard let time = PointDraft.time(value), time.seconds.magnitude <= 1e11 else { return nil }
        // OwnTracks did not exist before 2010, so an earlier time is counted from the year 2001.
        let isFrom2001 = self.countsFrom2001 && time.seconds < 1_262_304_000
        return isFrom2001 ? UnixTime(time.seconds + 978_307_200) : time
    }

    // MARK: Events

    /// Returns the event for an OwnTracks message `transition`: the phone entered or left a region.
    ///
    /// - Throws: `BadPiece` if the message says neither `enter` nor `leave`.
    private func transition(_ members: [String: JSONValue]) throws(BadPiece) -> RecordDraft {
        guard let event = members["event"]?.text, ["enter", "leave"].contains(event) else {
            throw BadPiece("the transition's event is neither enter nor leave")
        }
        var rest = members
        for name in ["event", "desc", "lat", "lon", "acc"] { rest[name] = nil }
        rest["zone"] = members["desc"] ?? members["rid"]
        rest["entered"] = .flag(event == "enter")
        let time = self.time(of: members) ?? self.receivedAt
        var place: Location?
        if let latitude = members["lat"]?.lenientNumber, let longitude = members["lon"]?.lenientNumber,
            let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        {
            place = Location(coordinate: coordinate, time: time)
            place?.accuracyHorizontal = members["acc"]?.lenientNumber.flatMap { $0 >= 0 ? $0 : nil }
        }
        return self.event(.zone, rest, location: place)
    }

    private func event(
        _ kind: TrackingEvent.Kind, _ members: [String: JSONValue], location: Location? = nil
    ) -> RecordDraft {
        var detail = members
        for name in ["_type", "topic", "tst"] { detail[name] = nil }
        let time = self.time(of: members)
        // A repeated message without a time arrives at another time. Its id identifies it instead, if it has one.
        let identity = time == nil && members["_id"]?.text != nil ? RecordDraft.Identity.happening : .everything
        return RecordDraft(
            Happening(kind, PointDraft.fitting(detail)), at: time ?? self.receivedAt, location: location,
            identity: identity)
    }

    /// Returns the time in the member `tst` of an OwnTracks message, or else in `created_at`, the time at which the
    /// message was created. `nil` without a valid time.
    private func time(of members: [String: JSONValue]) -> UnixTime? {
        members["tst"].flatMap(self.moment) ?? members["created_at"].flatMap(self.moment)
    }
}

extension TrackingEvent.Kind {
    /// The kind of an event that describes a place that the phone monitors. The event's detail has the place in `desc`,
    /// `lat`, `lon` and `rad`.
    static let waypoint = Self(rawValue: "WAYPOINT")
    /// The kind of an event that reports that a phone's connection to the broker broke. It is only a hint, and may
    /// arrive late.
    static let will = Self(rawValue: "WILL")
    /// The kind of an event with a card of OwnTracks. The card describes the phone's user.
    static let card = Self(rawValue: "CARD")
    /// The kind of an event with a status report of the phone's app.
    static let status = Self(rawValue: "STATUS")
    /// The kind of an event with the number of steps that the phone counted.
    static let steps = Self(rawValue: "STEPS")
    /// The kind of an event that reports a Bluetooth beacon near the phone.
    static let beacon = Self(rawValue: "BEACON")
}
