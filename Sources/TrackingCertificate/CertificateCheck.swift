/// A property of a broker that a certificate reports: Godwit relies on it, or it makes Godwit cheaper.
public enum CertificateCheck: String, CaseIterable, Hashable, Sendable {
    /// The broker delivers every message that it acknowledged.
    case acknowledged
    /// The messages of a topic arrive in the order in which they were published, also those kept for an absent client.
    case order
    /// The broker keeps the session of an absent client, with its subscriptions and messages.
    case session
    /// The broker keeps 2,000 messages for an absent client.
    case queue
    /// The broker delivers again the messages that a client received and did not acknowledge.
    case redelivery
    /// The broker publishes the will of a client whose connection is lost.
    case will
    /// The broker publishes no will after an orderly disconnect.
    case closing
    /// A client that connects with the client id of another one ends the connection of that other client.
    case takeover
    /// A client that subscribes to exact topics receives their retained messages.
    case retained
    /// A client that subscribes to a filter with a wildcard receives the retained messages of its topics.
    case wildcard
    /// An empty retained message removes the retained message of its topic.
    case clearing
    /// The broker divides messages between the members of a shared subscription.
    case share
    /// The broker accepts MQTT 5.
    case mqtt5
    /// The broker passes on the properties of a message: content type, response topic, correlation data.
    case properties
    /// The broker gives the reason when it ends the connection of a client.
    case reasons
    /// The broker delivers payloads of up to 128 KiB.
    case payload
    /// The broker grants 200 filters in one subscription.
    case filters
    /// The broker delivers messages whose topic has 8 levels, and messages whose topic has up to 700 bytes.
    case topics
    /// Messages that are published at one address of the broker arrive at the subscribers of its other address, in order.
    case elsewhere
    /// A retained message that was published at one address of the broker is delivered to new subscribers of its other
    /// address.
    case retainedElsewhere = "retained-elsewhere"
    /// A client that connects to the other address ends the connection of the same client id at the first one.
    case takeoverElsewhere = "takeover-elsewhere"
    /// A client that connects to the other address receives the messages that the first one keeps for it.
    case sessionElsewhere = "session-elsewhere"

    /// `true` if Godwit must not be used on a broker without this property.
    public var isRequired: Bool {
        switch self {
        case .acknowledged, .order, .session, .redelivery, .will, .takeover, .clearing, .elsewhere: true
        // A part of these is required: ``leastAmount``.
        case .payload, .filters, .topics: false
        case .queue, .closing, .retained, .wildcard, .share, .mqtt5, .properties, .reasons, .retainedElsewhere,
            .takeoverElsewhere, .sessionElsewhere:
            false
        }
    }

    /// The least amount that the broker must support for Godwit, for a check that tries several amounts: bytes of a payload,
    /// filters in one subscription, bytes of a topic. `nil` for all other checks.
    public var leastAmount: Int? {
        switch self {
        // An event or a version of a trip can have this size.
        case .payload: 32_768
        // A watcher may read this many topics of one trackable.
        case .filters: 13
        case .topics: 100
        default: nil
        }
    }

    /// The effect on Godwit if the broker does not have this property.
    var consequence: String {
        switch self {
        case .acknowledged:
            "Positions, presences and commands are lost although the broker acknowledged them."
        case .order:
            "Readers reject late positions, and an old presence or retained position can replace a newer one."
        case .session: "A recorder that restarts misses all messages that were published meanwhile."
        case .queue:
            "The broker drops messages while a recorder is away. Raise its limit of queued messages, and run the devices with --acknowledge-by."
        case .redelivery: "A recorder that is killed loses the messages that it had received and not stored."
        case .will: "A member that died remains present until its lease ends."
        case .closing: "Watchers see a client as offline for a moment whenever it renews its credentials."
        case .takeover: "Two programs with one client id work at the same time, and nothing fences the older one."
        case .retained:
            "A new watcher sees the position of a trackable at its next update, and its presence when the publisher announces it again."
        case .wildcard:
            "A watcher or recorder of all trackables sees each position at its next update, and each presence when the publisher announces it again."
        case .clearing: "A position that was erased, and a presence that ended, are delivered again."
        case .share: "Do not use godwit record --share. Run one recorder for each topic root."
        case .mqtt5:
            "Godwit uses MQTT 3.1.1: a refused message looks like an accepted one, and operators read the answers to commands from the events."
        case .properties: "The answers to commands can get lost."
        case .reasons:
            "The broker does not report that another program uses the same client id. Programs see it by the liveness of the other one."
        case .payload:
            "Large batches and updates are refused or lost. Raise the largest packet of the broker to 300,000 bytes."
        case .filters:
            "A watcher of many single trackables cannot subscribe to all of them. Watch all trackables, or few in each program."
        case .topics:
            "Keep the topic root and the ids of trackables short. Every byte of an id except A-Z a-z 0-9 _ - counts three times."
        case .elsewhere: "Members at different addresses of the cluster do not receive all messages of each other."
        case .retainedElsewhere:
            "A watcher that connects to another address sees each position at its next update."
        case .takeoverElsewhere:
            "Two programs with one client id at different addresses work at the same time. Give each recorder its own client id."
        case .sessionElsewhere:
            "A recorder that moves to another address gets the messages kept for it only after it returns. Run the devices with --acknowledge-by."
        }
    }
}
