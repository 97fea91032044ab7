import ArgumentParser
import GodwitOptions
import Logging
import TrackingCore
import TrackingGateway
import TrackingPublisher
import TrackingSpool

/// The option for the acknowledgement of records from phones, and the publisher of these records.
struct IntakeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Confirm a phone's records only after this recorder has stored them. Repeatable, or several separated by commas: all must store.",
            valueName: "client id"))
    var acknowledgeBy: [String] = []

    func validate() throws { _ = try self.recorders() }

    private func recorders() throws -> Set<ClientID> { try Set(acknowledgeBy: self.acknowledgeBy) }

    /// Makes the publisher of records from phones, with a connection of its own.
    ///
    /// - Parameters:
    ///   - name: The log's name, and the client id of the connection if the broker options give none.
    ///   - remedy: A sentence for the error when another connection has the same client id.
    ///   - recorder: The recorder that stores the records if `--acknowledge-by` names none.
    ///   - takesCommands: `true` to receive commands from the broker for phones.
    func intake(
        _ broker: BrokerOptions, _ state: StateOptions, name: String, remedy: String? = nil,
        recorder: SpoolStateMachine.UnnamedRecorder = .startedLater, takesCommands: Bool = false
    ) throws -> Intake {
        let identity = try broker.identity()
        var configuration = PublisherConfiguration(
            client: identity.isRandom ? try ClientID(name) : identity.client, session: identity.session)
        configuration.topicRoot = try TopicRoot(broker.topicRoot)
        configuration.recording.recorders = try self.recorders()
        configuration.recording.unnamedRecorder = recorder
        if self.acknowledgeBy.isEmpty, recorder == .startedLater {
            Logger(label: "godwit.\(name)").warning(
                "No recorder is named: records stay in the log until one acknowledges them",
                metadata: ["remedy": "name it with --acknowledge-by, or give godwit serve a --store"])
        }
        configuration.takesCommands = takesCommands
        return Intake(
            configuration: configuration, transport: try broker.transport(for: configuration, remedy: remedy),
            spool: SQLiteSpool(path: try state.path(for: "\(name)-spool.sqlite"), overwritesRemoved: true))
    }
}
