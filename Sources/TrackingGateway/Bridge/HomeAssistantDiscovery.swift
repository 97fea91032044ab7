package import TrackingCore

/// Tells Home Assistant of a trackable: a `device_tracker` whose attributes it reads from the trackable's own topic.
package struct HomeAssistantDiscovery: Hashable, Sendable {
    /// The discovery prefix of Home Assistant, without a slash at either end.
    private let prefix: String
    private let topicRoot: TopicRoot

    /// Makes the discovery of the trackables beneath a root.
    package init(prefix: String = "homeassistant", topicRoot: TopicRoot) {
        self.prefix = prefix
        self.topicRoot = topicRoot
    }

    /// The topic of a trackable's announcement; empty there, Home Assistant forgets it.
    func topic(of id: TrackableID) -> String {
        "\(self.prefix)/device_tracker/\(Self.name(self.topicRoot.path))/\(Self.name(id.topicLevel))/config"
    }

    /// The announcements of every trackable.
    var filter: String { "\(self.prefix)/device_tracker/\(Self.name(self.topicRoot.path))/+/config" }

    /// Returns the trackable that a topic announces; `nil` for any other topic.
    func trackable(of topic: String) -> TrackableID? {
        let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
        guard levels.count >= 2, levels.last == "config", let level = Self.text(levels[levels.count - 2]),
            let id = TrackableID(topicLevel: level), self.topic(of: id) == topic
        else { return nil }
        return id
    }

    /// The message that makes the trackable known; the broker keeps it.
    func announcement(of id: TrackableID) -> OutgoingMessage {
        let name = "godwit-\(Self.name(self.topicRoot.path))-\(Self.name(id.topicLevel))"
        let topic = self.topicRoot.path(.location(id))
        let config = JSONValue.object([
            "unique_id": .text(name), "source_type": .text("gps"),
            "json_attributes_topic": .text(topic), "json_attributes_template": .text(Self.attributes),
            "device": .object([
                "identifiers": .list([.text(name)]), "name": .text(id.rawValue), "manufacturer": .text("Godwit"),
                "model": .text("Trackable"),
            ]),
            "origin": .object(["name": .text("Godwit")]),
        ])
        // Without a name of its own the entity has the device's; without the member it would have one made up.
        let payload = Array("{\"name\":null,".utf8) + config.json.dropFirst()
        return OutgoingMessage(topic: self.topic(of: id), payload: payload, isRetained: true)
    }

    /// Makes the attributes that Home Assistant reads of a location update (`docs/reference/protocol.md`, "Payloads"), where a member that
    /// is `null` is none. Of what is no location update, and of the empty message of one that was cleared, it makes none: Home
    /// Assistant wants an object in any case.
    static let attributes = """
        {% if value_json is defined and value_json.location is defined %}\
        {% set fix = value_json.location %}{% set p = fix.properties %}\
        {{ dict({'latitude': fix.geometry.coordinates[1], 'longitude': fix.geometry.coordinates[0], \
        'gps_accuracy': p.accuracyHorizontal | default(0, true), 'time': p.time}, \
        **({'battery_level': (p.batteryLevel * 100) | round | int} if p.batteryLevel is number else {})) | tojson }}\
        {% else %}{{ {} | tojson }}{% endif %}
        """

    /// Decodes a result of ``name(_:)``; `nil` for any other text.
    private static func text(_ name: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(name.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "_") else {
                bytes.append(byte)
                continue
            }
            guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else { return nil }
            rest = rest.dropFirst(2)
            bytes.append(value)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Text in the alphabet of a node or an object, `A-Z a-z 0-9 - _`: any other byte, and `_`, as `_` and two digits.
    private static func name(_ text: String) -> String {
        text.utf8.map { byte in
            switch UnicodeScalar(byte) {
            case "A"..."Z", "a"..."z", "0"..."9", "-": String(UnicodeScalar(byte))
            default: "_" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}
