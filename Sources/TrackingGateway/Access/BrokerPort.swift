import TrackingCore

/// The port of the gateway's broker, without its host. The map page prints it in commands for the computer of the
/// broker.
package struct BrokerPort: Hashable, Sendable {
    /// The TCP port.
    package var port: Int
    /// `true` for an encrypted connection (TLS).
    package var isTLS: Bool

    /// Creates a port.
    package init(_ port: Int, isTLS: Bool = false) {
        self.port = port
        self.isTLS = isTLS
    }

    /// The port as JSON: `{"scheme": "mqtt", "port": 1883}`.
    var value: JSONValue {
        .object(["scheme": .text(self.isTLS ? "mqtts" : "mqtt"), "port": .number(Double(self.port))])
    }
}
