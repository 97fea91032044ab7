public import TrackingCore

/// A rule that every `MessageTransport` and its broker must follow. Check all rules with the in-memory broker and
/// with real brokers.
///
///     @Test(arguments: TransportRule.allCases) func conforms(rule: TransportRule) async throws {
///         try await rule.check(on: stage)
///     }
public enum TransportRule: String, CaseIterable, Sendable {
    /// The first event of a client is `.connected` with the connection number 0 and without a previous session.
    case connectsFirst
    /// A client's commands have no effect before its caller has read the first `.connected`, or when they were meant
    /// for a connection that is lost meanwhile.
    case commandsAreForTheConnectionThatWasSeen
    /// After a subscription, retained messages arrive before the answer to the next subscription. They are marked as
    /// retained; live messages are not.
    case retainedComesBeforeTheNextAnswer
    /// A repeated subscription delivers the retained messages again.
    case subscribingAgainBringsRetainedAgain
    /// An empty retained message clears its topic, and subscribers receive it like any other message.
    case anEmptyPayloadClears
    /// A publisher that is subscribed to a topic receives its own messages.
    case ownMessagesComeBack
    /// The broker publishes the will of a client whose connection is cut. The client reports the reason and the time of
    /// the next attempt, and connects again with the next connection number.
    case aCutConnectionSendsItsWillAndComesBack
    /// The broker does not publish the will of a client that closes its connection in an orderly way. The client
    /// reports the end without a reason, and ends its events.
    case aCloseSendsNoWill
    /// The broker publishes the will of a client whose task is cancelled, because a cancelled client ends its
    /// connection without a DISCONNECT packet.
    case aCancelledTaskSendsItsWill
    /// A client that is asked to close its connection first waits for the broker's answers to all earlier commands.
    case aCloseWaitsForAnswers
    /// The broker ends the connection of a client, and publishes its will, after a second client connected with the
    /// same client id.
    case theSecondOfANameTakesOver
    /// A message that the broker's rules forbid is not delivered. It is reported as rejected when the MQTT version
    /// permits that.
    case aForbiddenMessageIsRefused
    /// A message or filter that MQTT does not permit is rejected. Other messages and filters are not affected.
    case whatMQTTDoesNotAllowIsRefused
    /// Messages on one topic arrive in the order of publishing, and so do the answers.
    case theOrderIsKept
    /// The wildcards `+` and `#` of a topic filter match as MQTT specifies, and never match the broker's own topics.
    case wildcardsMatch
    /// After unsubscribing, messages on the topic are no longer delivered.
    case anUnsubscribedTopicIsSilent
    /// Each message is delivered to one member of a shared subscription.
    case aSharedSubscriptionDivides
    /// Content type, response topic, correlation data and expiry of a message are transmitted with MQTT 5, and omitted
    /// with earlier versions.
    case propertiesTravel
    /// A retained message is not delivered after its expiry.
    case anExpiredMessageIsGone

    /// Checks the rule.
    ///
    /// - Parameters:
    ///   - stage: The broker and its clients.
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

/// Fails a check unless a condition holds.
///
/// - Throws: ``ConformanceFailure`` with the description `what`.
func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw ConformanceFailure(what()) }
}
