import ArgumentParser
import TrackingCore
import TrackingRoads

/// The option `--engine` of the commands on the history.
struct RoadOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Use this routing engine: valhalla:http://HOST:PORT.", valueName: "address"))
    var engine: EngineAddress?

    /// The time limit of the engine for a run of recorded points.
    static let timeout = Duration.seconds(30)

    /// Returns the routing engine of `--engine`; `nil` without this option.
    func routingEngine() throws -> ValhallaEngine? {
        try self.engine.map { try ValhallaEngine(url: $0.url, timeout: Self.timeout) }
    }
}
