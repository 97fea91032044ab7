import ArgumentParser
import GodwitOptions
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

    /// What publishes, on a connection of its own.
    ///
    /// - Parameters:
    ///   - name: The connection's name where the broker options give it none; that of the log in any case.
    ///   - takesCommands: A Boolean value that indicates whether commands from the broker are taken for phones.
    func intake(
        _ broker: BrokerOptions, _ state: StateOptions, name: String, takesCommands: Bool = false
    ) throws -> Intake {
        let identity = try broker.identity()
        var configuration = PublisherConfiguration(
            client: identity.isRandom ? try ClientID(name) : identity.client, session: identity.session)
        configuration.topicRoot = try TopicRoot(broker.topicRoot)
        configuration.recording.recorders = try self.recorders()
        configuration.takesCommands = takesCommands
        return Intake(
            configuration: configuration, transport: try broker.transport(for: configuration),
            spool: SQLiteSpool(path: try state.path(for: "\(name)-spool.sqlite")))
    }
}
