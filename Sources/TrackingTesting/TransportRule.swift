public import TrackingCore

/// A rule that every `MessageTransport`, the connection of a client to a broker, must follow together with its broker.
/// Check all rules with the in-memory broker and with real brokers.
///
///     @Test(arguments: TransportRule.allCases) func conforms(rule: TransportRule) async throws {
///         try await rule.check(on: stage)
///     }
public enum TransportRule: String, CaseIterable, Sendable {
    /// The first event of a client is `.connected`, with the connection number 0. The broker has no earlier session of
    /// the client.
    case connectsFirst
    /// A client's command has an effect only on the connection whose event `.connected` the caller has read last. A
    /// command before the first such event has no effect. A command that is given after that connection was lost has no
    /// effect on the next one.
    case commandsAreForTheConnectionThatWasSeen
    /// The retained messages for a subscription arrive before the broker's answer to the next subscription. They are
    /// marked as retained, and newly published messages are not.
    case retainedComesBeforeTheNextAnswer
    /// A client that repeats a subscription receives the retained messages again.
    case subscribingAgainBringsRetainedAgain
    /// An empty retained message clears the retained message of its topic. Subscribers receive the empty message like
    /// any other.
    case anEmptyPayloadClears
    /// A client that publishes to a topic to which it is subscribed receives its own message.
    case ownMessagesComeBack
    /// The broker publishes the will of a client whose connection is cut. The client reports the reason and the wait
    /// before its next attempt. It then connects again, with the next connection number.
    case aCutConnectionSendsItsWillAndComesBack
    /// The broker does not publish the will of a client that closes its connection in an orderly way. The client
    /// reports an end without a reason as its last event.
    case aCloseSendsNoWill
    /// The broker publishes the will of a client whose task is cancelled, because a cancelled client ends its
    /// connection without a DISCONNECT packet.
    case aCancelledTaskSendsItsWill
    /// A client that is asked to close its connection first waits for the broker's answers to all earlier commands.
    case aCloseWaitsForAnswers
    /// A second client that connects with the client id of a first one takes its place. The broker ends the connection
    /// of the first client and publishes its will.
    case theSecondOfANameTakesOver
    /// A message that the broker's rules forbid is not delivered to anyone. With MQTT 5, the broker reports the
    /// rejection to the publishing client; with MQTT 3.1.1 it does not.
    case aForbiddenMessageIsRefused
    /// A message or a topic filter that MQTT does not permit is rejected. The other messages and filters of the same
    /// call are not affected.
    case whatMQTTDoesNotAllowIsRefused
    /// Messages on one topic arrive in the order in which they were published. The broker's answers arrive in that
    /// order too.
    case theOrderIsKept
    /// The wildcards `+` and `#` in a topic filter match as MQTT specifies. A wildcard at the beginning never matches
    /// the broker's own topics, which begin with `$`.
    case wildcardsMatch
    /// After a client has unsubscribed from a topic, it receives no more messages on the topic.
    case anUnsubscribedTopicIsSilent
    /// Each message is delivered to exactly one member of a shared subscription.
    case aSharedSubscriptionDivides
    /// The content type, response topic, correlation data and expiry of a message are transmitted with MQTT 5, and left
    /// out with MQTT 3.1.1.
    case propertiesTravel
    /// With MQTT 5, a retained message is not delivered after its expiry. MQTT 3.1.1 has no expiry.
    case anExpiredMessageIsGone

    /// Checks that the transport and its broker follow this rule.
    ///
    /// - Parameters:
    ///   - stage: The broker and a function that makes its clients.
    ///   - limit: The time after which the check fails.
    /// - Throws: ``ConformanceFailure`` that describes the violation, or the error that prevented the check.
    public func check(on stage: TransportStage<some MessageTransport>, within limit: Duration = .seconds(20))
        async throws
    {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.play(stage) }
            group.addTask {
                try await Task.sleep(for: limit)
                throw ConformanceFailure("\(self.rawValue): the check did not complete within \(limit)")
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func play(_ stage: TransportStage<some MessageTransport>) async throws {
        switch self {
        case .connectsFirst: try await stage.connectsFirst()
        case .commandsAreForTheConnectionThatWasSeen: try await stage.commandsAreForTheConnectionThatWasSeen()
        case .retainedComesBeforeTheNextAnswer: try await stage.retainedComesBeforeTheNextAnswer()
        case .subscribingAgainBringsRetainedAgain: try await stage.subscribingAgainBringsRetainedAgain()
        case .anEmptyPayloadClears: try await stage.anEmptyPayloadClears()
        case .ownMessagesComeBack: try await stage.ownMessagesComeBack()
        case .aCutConnectionSendsItsWillAndComesBack: try await stage.aCutConnectionSendsItsWillAndComesBack()
        case .aCloseSendsNoWill: try await stage.aCloseSendsNoWill()
        case .aCancelledTaskSendsItsWill: try await stage.aCancelledTaskSendsItsWill()
        case .aCloseWaitsForAnswers: try await stage.aCloseWaitsForAnswers()
        case .theSecondOfANameTakesOver: try await stage.theSecondOfANameTakesOver()
        case .aForbiddenMessageIsRefused: try await stage.aForbiddenMessageIsRefused()
        case .whatMQTTDoesNotAllowIsRefused: try await stage.whatMQTTDoesNotAllowIsRefused()
        case .theOrderIsKept: try await stage.theOrderIsKept()
        case .wildcardsMatch: try await stage.wildcardsMatch()
        case .anUnsubscribedTopicIsSilent: try await stage.anUnsubscribedTopicIsSilent()
        case .aSharedSubscriptionDivides: try await stage.aSharedSubscriptionDivides()
        case .propertiesTravel: try await stage.propertiesTravel()
        case .anExpiredMessageIsGone: try await stage.anExpiredMessageIsGone()
        }
    }
}

/// Throws an error if `condition`, a condition that a check requires, is false.
///
/// - Throws: ``ConformanceFailure`` with the description `what`.
func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw ConformanceFailure(what()) }
}
