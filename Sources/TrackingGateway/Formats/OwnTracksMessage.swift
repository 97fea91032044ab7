import TrackingCore
import TrackingHistory
import TrackingPublisher

/// Reads one message of OwnTracks.
struct OwnTracksMessage {
    /// The value of `_via` in messages that a bridge republished.
    static let mark = "godwit"

    let receivedAt: UnixTime
    let secret: OwnTracksSecret?
    let countsFrom2001: Bool

    /// Returns the records of a message; none if the message is not about the trackable.
    ///
    /// - Parameter text: The source text of the message.
    func records(_ message: JSONValue, _ text: ArraySlice<UInt8>) throws(BadPiece) -> [RecordDraft] {
        guard let members = message.object else { throw BadPiece("it is not a JSON object") }
        guard let type = members["_type"]?.text else { throw BadPiece("it has no _type") }
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
        default: throw BadPiece("its _type is not known")
        }
    }

    private func decrypted(
        _ members: [String: JSONValue]
    ) throws(BadPiece) -> (message: JSONValue, text: ArraySlice<UInt8>) {
        guard let secret = self.secret else {
            throw BadPiece("it is encrypted, and there is no key for this trackable")
        }
        guard let data = members["data"]?.text, let plain = secret.open(base64: data) else {
            throw BadPiece("it is encrypted with another key, or damaged")
        }
        guard let message = try? JSONValue(json: plain) else { throw BadPiece("what was encrypted is not JSON") }
        guard message["_type"]?.text != "encrypted" else { throw BadPiece("it is encrypted twice") }
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

    /// A Boolean value that indicates whether a member has a field of its own in a point.
    private static func isKnown(_ name: String) -> Bool {
        self.names[name] != nil || ["_type", "topic", "tst", "alt", "vac", "motionactivities"].contains(name)
    }

    /// Returns a time of OwnTracks.
    private func moment(_ value: JSONValue) -> UnixTime? {
        guard let time = PointDraft.time(value), time.seconds.magnitude <= 1e11 else { return nil }
        // OwnTracks has no times before 2010.
        let isFrom2001 = self.countsFrom2001 && time.seconds < 1_262_304_000
        return isFrom2001 ? UnixTime(time.seconds + 978_307_200) : time
    }

    // MARK: Events

    /// Returns the event of a region that was entered or left.
    private func transition(_ members: [String: JSONValue]) throws(BadPiece) -> RecordDraft {
        guard let event = members["event"]?.text, ["enter", "leave"].contains(event) else {
            throw BadPiece("it neither enters nor leaves")
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

    /// Returns the time of the event, or the time at which the message was written.
    private func time(of members: [String: JSONValue]) -> UnixTime? {
        members["tst"].flatMap(self.moment) ?? members["created_at"].flatMap(self.moment)
    }
}

extension TrackingEvent.Kind {
    /// A place that a phone monitors, in the detail's `desc`, `lat`, `lon` and `rad`.
    static let waypoint = Self(rawValue: "WAYPOINT")
    /// A phone's connection broke. This is only a hint: it may arrive late.
    static let will = Self(rawValue: "WILL")
    /// The card of the phone's user.
    static let card = Self(rawValue: "CARD")
    /// The status of the phone's app.
    static let status = Self(rawValue: "STATUS")
    /// A number of counted steps.
    static let steps = Self(rawValue: "STEPS")
    /// A Bluetooth beacon was seen.
    static let beacon = Self(rawValue: "BEACON")
}
