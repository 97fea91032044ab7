public import TrackingCore

/// The settings of an MQTT client that a ``Certification`` connects to the tested broker.
public struct CertificateClient: Hashable, Sendable {
    /// The address of the broker to which a client connects.
    public enum Address: Hashable, Sendable {
        /// The address that is certified.
        case first
        /// Another address of the same cluster.
        case second
    }

    /// The client id.
    public let id: ClientID
    /// The address to which the client connects.
    public var address = Address.first
    /// The MQTT version to use; `nil` for 5, or 3.1.1 if the broker does not support 5.
    public var version: ConnectionStateMachine.Version?
    /// `true` if the broker keeps the session of the client after its connection ends, for ten minutes at least.
    public var isKept = false
    /// `true` if the client leaves received messages unacknowledged until it is told to acknowledge them.
    public var withholdsAcknowledgements = false
    /// The message that the broker publishes when the connection is lost; `nil` for none.
    public var will: OutgoingMessage?

    /// Creates the settings of a client with a clean session and no will, at the first address.
    init(id: ClientID) { self.id = id }
}
