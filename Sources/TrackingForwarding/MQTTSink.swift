import Logging
package import TrackingCore
import TrackingMQTT
package import TrackingSinks

/// Another broker, to which points are published with QoS 1 for the recorders there.
package struct MQTTSink: Sendable {
    /// The address of the broker.
    package let address: ForwardAddress
    private let client: MQTTClient

    /// Creates a sink without a connection. ``run()`` connects it.
    ///
    /// The client id is the user name if that is a valid one, because some brokers require it, and otherwise random.
    /// The connection uses MQTT 5 only: in MQTT 3.1.1, a broker also acknowledges a message that it rejects.
    ///
    /// - Parameters:
    ///   - address: The address of the broker.
    ///   - password: The function that returns the user's password, called before each attempt to connect; `nil` for
    ///     the password in the address, or none.
    /// - Throws: `invalidConfiguration` for an address of another kind, and for a password without a user;
    ///   `inputUnreadable` for the file with the authorities.
    package init(
        _ address: ForwardAddress, password: (@Sendable () throws(TrackingError) -> String)?
    ) throws(TrackingError) {
        let (endpoint, credentials) = try MQTTEndpoint.parse(address.url)
        var configuration = MQTTConfiguration(
            endpoints: [endpoint], client: try Self.client(of: credentials?.user))
        configuration.version = .v5
        configuration.credentials = credentials
        configuration.tls.authorities = address.authorities
        configuration.takeoverRemedy = "Give the forwarder a user of its own"
        configuration.logger = Logger(label: "godwit.mqtt")
        if let password {
            guard let user = credentials?.user, credentials?.password == nil else {
                throw TrackingError(
                    .invalidConfiguration,
                    "cannot forward to \(address): with password-file, the address must have a user and no password. Give it as mqtts://USER@HOST#password-file=PATH"
                )
            }
            configuration.credentialsProvider = { MQTTCredentials(user: user, password: try password()) }
        }
        self.address = address
        self.client = try MQTTClient(configuration: configuration)
    }

    private static func client(of user: String?) throws(TrackingError) -> ClientID {
        if let user, let client = try? ClientID(user) { return client }
        // The thread sanitizer cannot observe a generator without stored properties, as that of the system.
        var generator = SplitMix64(seed: .random(in: .min ... .max))
        return try ClientID("godwit-forward-\(SessionID.random(using: &generator))")
    }

    /// Connects, and reconnects after each loss, until the task is cancelled. Call it once.
    func run() async { await self.client.run() }

    /// Publishes the first points of a batch, and returns the result with the number of points that were published. It
    /// never throws: a failure is a result.
    func send(_ batch: ForwardBatch) async -> (answer: ForwardAnswer, count: Int) {
        let message: ForwardMessage
        do throws(TrackingError) {
            message = try ForwardMessage(batch)
        } catch {
            let count = batch.points.count
            return (ForwardAnswer(.rejectedContent(count: count), reason: error.message), count)
        }
        let topic = self.address.topicRoot.path(message.topic)
        var properties = MessageProperties()
        properties.contentType = "application/json"
        do throws(TrackingError) {
            let reason = try await self.client.publish(
                OutgoingMessage(topic: topic, payload: message.payload, isRetained: false, properties: properties))
            return (ForwardAnswer(reason, on: topic), message.count)
        } catch {
            return (ForwardAnswer(error, count: message.count), message.count)
        }
    }
}

/// The reading of a broker's answers.
extension ForwardAnswer {
    /// Makes the result of a publish that the broker accepted.
    ///
    /// A broker discards a message on a topic to which no client has subscribed, so such a message is not delivered.
    init(_ reason: PublishReason, on topic: String) {
        switch reason {
        case .success: self.init(.acknowledged)
        case .noMatchingSubscribers:
            self.init(
                .failed,
                reason:
                    "no recorder has subscribed to \(topic) at the broker. Start godwit record there"
            )
        }
    }

    /// Makes the result of a publish of this number of points that failed.
    init(_ error: TrackingError, count: Int) {
        self.init(error.isContentRefusal ? .rejectedContent(count: count) : .failed, reason: error.message)
    }
}
