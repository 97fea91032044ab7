import ArgumentParser
import TrackingCore
import TrackingRoads

/// The option `--engine` of the commands on the history.
struct RoadOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Use this routing engine: valhalla:http://HOST:PORT.", valueName: "address"))
    var engine: EngineAddress?

    /// The time limit of the engine for a run of recorded points.
    static let timeout = Duration.seconds(30)

    /// Runs `body` with the routing engine of `--engine`; `nil` without this option. Then closes the connection to it.
    func use(_ body: (ValhallaEngine?) async throws -> Void) async throws {
        let engine = try self.engine.map { try ValhallaEngine(url: $0.url, timeout: Self.timeout) }
        do { try await body(engine) } catch {
            await engine?.close()
            throw error
        }
        await engine?.close()
    }
}
