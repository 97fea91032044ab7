import TrackingCore

/// Decides which of the commands that arrive through the broker a publisher delivers to its caller: each command once,
/// and no expired command.
struct CommandIntake: Sendable {
    /// The name under which the log stores the ids of the received commands.
    static let key = "commands"

    private var gate: CommandGate

    /// Makes the intake for the commands that a publisher receives in this run.
    ///
    /// - Parameter stored: The named values that an earlier run stored in the log. They contain the ids of the commands
    ///   that were received then, so that a repeated command is not delivered again.
    init(stored: [String: [UInt8]]) { self.gate = CommandGate(keeping: stored[Self.key]) }

    /// Handles a command for a trackable.
    ///
    /// - Parameters:
    ///   - payload: The encoded command.
    ///   - properties: The MQTT properties of the message, with the response topic.
    ///   - root: The topic root. A response topic that is not for answers of the trackable is ignored.
    ///   - wall: The present time, by which a command may have expired.
    /// - Returns: The actions that store the command's id in the log and deliver the command; none for a repeated or
    ///   expired command.
    /// - Throws: `invalidPayload` for a command that cannot be decoded.
    mutating func received(
        _ payload: ArraySlice<UInt8>, _ properties: MessageProperties, on id: TrackableID, root: TopicRoot,
        at wall: UnixTime
    ) throws(TrackingError) -> [PublisherStateMachine.Action] {
        let command = try CommandCodec.decode(payload)
        guard self.gate.consider(command, now: wall) == .take else { return [] }
        let topic = properties.responseTopic.flatMap { root.isForAnswers(of: id, $0) ? $0 : nil }
        let received = ReceivedCommand(
            trackable: id, command: command, responseTopic: topic, correlationData: properties.correlationData)
        return [.log(id, .keep(Self.key, self.gate.kept)), .commanded(received)]
    }
}
