package import TrackingCore

/// Announces trackables to Home Assistant over MQTT discovery. Each trackable becomes a `device_tracker` entity, whose
/// attributes Home Assistant reads from the trackable's location topic.
package struct HomeAssistantDiscovery: Hashable, Sendable {
    /// The discovery prefix of Home Assistant, the first levels of its discovery topics, without a slash at either end.
    private let prefix: String
    private let topicRoot: TopicRoot

    /// Creates a value that makes the Home Assistant announcements of the trackables below a topic root.
    ///
    /// - Parameters:
    ///   - prefix: The discovery prefix of Home Assistant.
    ///   - topicRoot: The root of Godwit's topics.
    package init(prefix: String = "homeassistant", topicRoot: TopicRoot) {
        self.prefix = prefix
        self.topicRoot = topicRoot
    }

    /// Returns the topic on which a trackable is announced to Home Assistant. An empty message on it removes the
    /// entity.
    func topic(of id: TrackableID) -> String {
        "\(self.prefix)/device_tracker/\(Self.name(self.topicRoot.path))/\(Self.name(id.topicLevel))/config"
    }

    /// The topic filter for the Home Assistant announcements of all trackables.
    var filter: String { "\(self.prefix)/device_tracker/\(Self.name(self.topicRoot.path))/+/config" }

    /// Returns the trackable that is announced on a topic; `nil` for any other topic.
    func trackable(of topic: String) -> TrackableID? {
        let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
        guard levels.count >= 2, levels.last == "config", let level = Self.text(levels[levels.count - 2]),
            let id = TrackableID(topicLevel: level), self.topic(of: id) == topic
        else { return nil }
        return id
    }

    /// Returns the retained message that announces a trackable to Home Assistant.
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
        // With `"name": null` the entity has the name of its device. Without this member Home Assistant would make up a
        // name.
        let payload = Array("{\"name\":null,".utf8) + config.json.dropFirst()
        return OutgoingMessage(topic: self.topic(of: id), payload: payload, isRetained: true)
    }

    /// The Home Assistant template that makes the entity's attributes from a location update
    /// (`docs/reference/protocol.md`, "Payloads"). A member that is `null` counts as absent. For any other message,
    /// such as the empty one that clears the position, the template gives an empty object, because Home Assistant
    /// requires an object.
    static let attributes = """
        {% if value_json is defined and value_json.location is defined %}\
        {% set fix = value_json.location %}{% set p = fix.properties %}\
        {{ dict({'latitude': fix.geometry.coordinates[1], 'longitude': fix.geometry.coordinates[0], \
        'gps_accuracy': p.accuracyHorizontal | default(0, true), 'time': p.time}, \
        **({'battery_level': (p.batteryLevel * 100) | round | int} if p.batteryLevel is number else {})) | tojson }}\
        {% else %}{{ {} | tojson }}{% endif %}
        """

    /// Decodes a part of a Home Assistant topic that ``name(_:)`` encoded; `nil` for a part in another form.
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

    /// Encodes a text for Home Assistant's discovery topics, which allow only `A-Z a-z 0-9 - _`: `_` and any other byte
    /// become `_` and two hexadecimal digits.
    private static func name(_ text: String) -> String {
        text.utf8.map { byte in
            switch UnicodeScalar(byte) {
            case "A"..."Z", "a"..."z", "0"..."9", "-": String(UnicodeScalar(byte))
            default: "_" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}
