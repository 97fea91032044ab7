import Synchronization
public import TrackingCore
import TrackingRuntime

/// Messages that a program publishes through its subscriber: tracking events, commands and journeys.
extension AssetSubscriber {
    /// Publishes a tracking event of a trackable, where the broker's rules allow that. Returns once the broker has
    /// accepted the event. An event that is published again after a lost connection may arrive twice.
    ///
    /// - Throws:
    ///   - `payloadTooLarge` if the event's detail has more than ``/TrackingCore/WireLimits/maximumDetailBytes`` bytes.
    ///   - `connectionLost` before ``run()``, without a connection, or when the connection is lost before the answer.
    ///   - `notAuthorized` when the broker rejects the event.
    ///   - `stopped` after the end of the subscriber, or when the waiting task is cancelled. The broker receives the
    ///     event despite the cancellation.
    public func publish(_ event: TrackingEvent, of id: TrackableID) async throws(TrackingError) {
        try event.checkDetail()
        try await self.waitForBroker("tracking event") { .publish(event, of: id, request: $0) }
    }

    /// Sends a command to the publisher of a trackable, where the broker's rules allow that. Returns once the broker
    /// has accepted the command. The publisher answers with a tracking event of kind
    /// ``/TrackingCore/TrackingEvent/Kind/command``, if it accepts commands and is connected.
    ///
    /// - Throws:
    ///   - `invalidPayload` or `payloadTooLarge` if the command cannot be encoded.
    ///   - `connectionLost`, `notAuthorized` and `stopped`, as ``publish(_:of:)`` does.
    public func send(_ command: Command, to id: TrackableID) async throws(TrackingError) {
        _ = try CommandCodec.encode(command)
        try await self.waitForBroker("command") { .send(command, to: id, request: $0) }
    }

    /// Sets the journey of a trackable, or clears it (`nil`), where the broker's rules allow that. Returns once the
    /// broker has acknowledged the retained message.
    ///
    /// A broker with MQTT 3.1.1 acknowledges also a message that it rejects. With
    /// ``SubscriberConfiguration/wantsJourneys``, an accepted journey arrives as ``SubscriberEvent/journey(_:_:)``.
    ///
    /// - Throws:
    ///   - `invalidPayload` or `payloadTooLarge` if the journey cannot be encoded.
    ///   - `connectionLost`, `notAuthorized` and `stopped`, as ``publish(_:of:)`` does.
    public func setJourney(_ journey: Journey?, of id: TrackableID) async throws(TrackingError) {
        if let journey { _ = try MessageCodec.encode(journey) }
        try await self.waitForBroker("journey") { .setJourney(journey, of: id, request: $0) }
    }

    /// Makes the subscriber's state machine publish a message, and waits for the broker's answer.
    ///
    /// - Parameters:
    ///   - what: The word for the message in errors, such as "command".
    ///   - event: Returns the event that makes the state machine publish the message. It receives the number of this
    ///     request, by which the answer is found.
    private func waitForBroker(
        _ what: String, _ event: (UInt64) -> SubscriberStateMachine.Event
    ) async throws(TrackingError) {
        let (answers, answer) = AsyncStream.makeStream(of: TrackingError?.self)
        let request = try self.shared.withLock { (shared) throws(TrackingError) in
            guard shared.hasBegun else {
                throw TrackingError(
                    .connectionLost,
                    "cannot publish the \(what): the subscriber does not run yet. Call run() in another task first")
            }
            guard !shared.hasEnded else {
                throw TrackingError(
                    .stopped, "cannot publish the \(what): the subscriber has ended. Create a new subscriber")
            }
            shared.lastRequest += 1
            shared.publishing[shared.lastRequest] = answer
            return shared.lastRequest
        }
        self.mailbox.post(event(request))
        for await failure in answers {
            if let failure { throw failure }
            return
        }
        throw TrackingError(
            .stopped,
            "cannot tell whether the broker accepted the \(what): the wait for its answer was cancelled. The \(what) is published all the same"
        )
    }
}
