import CMosquitto
import SystemLibrary
import TrackingCore

/// A list of MQTT 5 properties in libmosquitto's form, which its owner frees.
struct PropertyList: ~Copyable {
    private(set) var pointer: OpaquePointer?

    init() {}

    deinit { withUnsafePointerCopy(self.pointer) { mosquitto_property_free_all($0) } }

    mutating func add(_ identifier: mqtt5_property, _ value: UInt32) {
        mosquitto_property_add_int32(&self.pointer, Int32(identifier.rawValue), value)
    }

    mutating func add(_ identifier: mqtt5_property, _ value: String) {
        mosquitto_property_add_string(&self.pointer, Int32(identifier.rawValue), value)
    }

    mutating func add(_ identifier: mqtt5_property, _ value: [UInt8]) {
        guard let count = UInt16(exactly: value.count) else { return }
        mosquitto_property_add_binary(&self.pointer, Int32(identifier.rawValue), value, count)
    }

    /// Returns the MQTT 5 properties of a PUBLISH packet; an empty list when no property is set.
    static func publish(_ properties: MessageProperties) -> PropertyList {
        var list = PropertyList()
        if let type = properties.contentType { list.add(MQTT_PROP_CONTENT_TYPE, type) }
        if let expiry = properties.expiry {
            list.add(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, UInt32(clamping: expiry.components.seconds))
        }
        if let topic = properties.responseTopic { list.add(MQTT_PROP_RESPONSE_TOPIC, topic) }
        if let data = properties.correlationData { list.add(MQTT_PROP_CORRELATION_DATA, data) }
        return list
    }

    /// Returns the MQTT 5 properties of a CONNECT packet: the lifetime of the session and the largest accepted packet.
    static func connect(sessionExpiry: Duration?, packetSize: Int) -> PropertyList {
        var list = PropertyList()
        if let sessionExpiry {
            list.add(MQTT_PROP_SESSION_EXPIRY_INTERVAL, UInt32(clamping: sessionExpiry.components.seconds))
        }
        list.add(MQTT_PROP_MAXIMUM_PACKET_SIZE, UInt32(clamping: packetSize))
        return list
    }

    /// Reads the MQTT 5 properties of a received message: its expiry, content type, response topic and correlation
    /// data.
    static func read(_ properties: OpaquePointer?) -> MessageProperties {
        var read = MessageProperties()
        var expiry: UInt32 = 0
        if mosquitto_property_read_int32(properties, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), &expiry, false)
            != nil
        {
            read.expiry = .seconds(Int64(expiry))
        }
        read.contentType = self.string(properties, MQTT_PROP_CONTENT_TYPE)
        read.responseTopic = self.string(properties, MQTT_PROP_RESPONSE_TOPIC)
        var data: UnsafeMutableRawPointer?
        var count: UInt16 = 0
        if mosquitto_property_read_binary(
            properties, Int32(MQTT_PROP_CORRELATION_DATA.rawValue), &data, &count, false) != nil
        {
            read.correlationData = Array(UnsafeRawBufferPointer(start: data, count: Int(count)))
            free(data)
        }
        return read
    }

    /// Reads the broker's Receive Maximum, the number of unacknowledged publishes that it accepts; `nil` if the broker
    /// did not state it.
    static func receiveMaximum(_ properties: OpaquePointer?) -> Int? {
        var value: UInt16 = 0
        let found = mosquitto_property_read_int16(
            properties, Int32(MQTT_PROP_RECEIVE_MAXIMUM.rawValue), &value, false)
        return found == nil ? nil : Int(value)
    }

    private static func string(_ properties: OpaquePointer?, _ identifier: mqtt5_property) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard mosquitto_property_read_string(properties, Int32(identifier.rawValue), &text, false) != nil, let text
        else { return nil }
        defer { free(text) }
        return String(cString: text)
    }
}

private func withUnsafePointerCopy(
    _ pointer: OpaquePointer?, _ body: (UnsafeMutablePointer<OpaquePointer?>) -> Void
) {
    var copy = pointer
    body(&copy)
}
