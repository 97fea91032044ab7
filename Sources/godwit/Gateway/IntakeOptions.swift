import ArgumentParser
import GodwitOptions
import Logging
import TrackingCore
import TrackingGateway
import TrackingPublisher
import TrackingSpool

/// The option `--acknowledge-by` for the records that phones send by HTTP or OwnTracks. It names the recorders that
/// must store a phone's records before the phone receives an acknowledgement.
struct IntakeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Acknowledge a phone's records to the phone only after this recorder has stored them. Repeatable, or several separated by commas: all must store them.",
            valueName: "client id"))
    var acknowledgeBy: [String] = []

    func validate() throws { _ = try self.recorders() }

    private func recorders() throws -> Set<ClientID> { try Set(acknowledgeBy: self.acknowledgeBy) }

    /// Makes the publisher that passes on the records of phones to the broker. It has its own connection to the broker
    /// and its own log.
    ///
    /// - Parameters:
    ///   - broker: The options for the connection.
    ///   - state: The folder of the log.
    ///   - name: The name for the log's file, and the client id if the options give none.
    ///   - remedy: Advice for the error that another connection has the same client id.
    ///   - recorder: The kind of recorder that must store the records if `--acknowledge-by` names none.
    ///   - takesCommands: `true` to receive commands for phones from the broker.
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
                "No recorder is named for the records of phones: they stay in the log until a recorder acknowledges them",
                metadata: ["remedy": "name a recorder with --acknowledge-by, or start godwit serve with --store"])
        }
        configuration.takesCommands = takesCommands
        return Intake(
            configuration: configuration, transport: try broker.transport(for: configuration, remedy: remedy),
            spool: SQLiteSpool(path: try state.path(for: "\(name)-spool.sqlite"), overwritesRemoved: true))
    }
}
