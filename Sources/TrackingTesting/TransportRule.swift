public import TrackingCore

/// What every ``MessageTransport`` and its broker have to keep to, one rule a case: checked on the broker in memory and on
/// a real one.
///
///     @Test(arguments: TransportRule.allCases) func conforms(rule: TransportRule) async throws {
///         try await rule.check(on: stage)
///     }
public enum TransportRule: String, CaseIterable, Sendable {
    /// Nothing is told before the first `.connected`, which is number 0 of a new session.
    case connectsFirst
    /// What is sent before the first `.connected` was read, or for an earlier connection, is not carried out.
    case commandsAreForTheConnectionThatWasSeen
    /// Retained messages come before the answer to the next subscription and are marked; live ones are not.
    case retainedComesBeforeTheNextAnswer
    /// Who subscribes again is sent what stands again.
    case subscribingAgainBringsRetainedAgain
    /// An empty retained message clears its topic, and is delivered as any other to those who listen.
    case anEmptyPayloadClears
    /// Messages come back to who sent them.
    case ownMessagesComeBack
    /// A cut connection sends its will, tells why and when it is tried again, and comes back under the next number.
    case aCutConnectionSendsItsWillAndComesBack
    /// An orderly close sends no will, is told without a reason, and ends the events.
    case aCloseSendsNoWill
    /// A task that is cancelled sends its will: it has said no goodbye.
    case aCancelledTaskSendsItsWill
    /// A close waits until what was sent before is answered.
    case aCloseWaitsForAnswers
    /// Of two clients of one name the first loses its connection, and its will is sent.
    case theSecondOfANameTakesOver
    /// What the broker's rules forbid is not delivered, and refused where the version of MQTT can say so.
    case aForbiddenMessageIsRefused
    /// What MQTT does not allow is refused, and the rest goes on.
    case whatMQTTDoesNotAllowIsRefused
    /// Messages of one topic arrive in the order in which they were sent; so do the answers.
    case theOrderIsKept
    /// `+` and `#` match as MQTT has it, the broker's own topics not at all.
    case wildcardsMatch
    /// What was unsubscribed is silent.
    case anUnsubscribedTopicIsSilent
    /// Each message goes to one member of a shared subscription.
    case aSharedSubscriptionDivides
    /// Content type, response topic, correlation data and expiry travel on MQTT 5, and are dropped before it.
    case propertiesTravel
    /// A retained message is not delivered after it has expired.
    case anExpiredMessageIsGone

    /// Checks it.
    ///
    /// - Parameter limit: When to give up.
    /// - Throws: ``ConformanceFailure`` that says what was broken, or why the stage could not be set up.
    public func check(on stage: TransportStage<some MessageTransport>, within limit: Duration = .seconds(20))
        async throws
    {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.play(stage) }
            group.addTask {
                try await Task.sleep(for: limit)
                throw ConformanceFailure("\(self.rawValue): not over within \(limit)")
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

/// - Throws: ``ConformanceFailure`` that says what was broken, unless it was not.
func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw ConformanceFailure(what()) }
}
