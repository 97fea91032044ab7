import ArgumentParser
import GodwitOptions
import Logging
import TrackingCore
import TrackingGateway
import TrackingPublisher
import TrackingSpool

/// How what comes in from phones is published.
struct IntakeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "What comes in is answered ok only when this recorder has stored it. Repeatable, or several with commas: each must.",
            valueName: "client id"))
    var acknowledgeBy: [String] = []

    func validate() throws { _ = try self.recorders() }

    private func recorders() throws -> Set<ClientID> { try Set(acknowledgeBy: self.acknowledgeBy) }

    /// Makes the publisher of records from outside, with a connection of its own.
    ///
    /// - Parameters:
    ///   - name: The connection's name where the broker options give it none; that of the log in any case.
    ///   - remedy: A sentence for the error when another connection has the client id.
    ///   - recorder: The recorder that stores the records where `--acknowledge-by` names none.
    ///   - takesCommands: A Boolean value that indicates whether commands from the broker are taken for phones.
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
