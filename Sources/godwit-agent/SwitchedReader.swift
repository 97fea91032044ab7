import GodwitOptions
import Logging
import TrackingCore
import TrackingPublisher

/// Reads the sources of positions while the agent is switched on, and pauses while it is off.
struct SwitchedReader: Sendable {
    let reader: SourceReader<AgentTransport>
    private let power: Power
    /// `true` if one of the sources reads the agent's standard input. While the agent is off, that input is read and
    /// discarded.
    private let readsStandardInput: Bool

    /// Makes a reader of the sources that the options describe.
    ///
    /// - Parameters:
    ///   - run: The options of `godwit-agent run`.
    ///   - power: The switch by which the agent is on or off.
    ///   - trackable: The trackable whose name determines the route of simulated sources, so that the simulated
    ///     vehicles of two agents drive different ways.
    /// - Throws: `invalidConfiguration` for an invalid source.
    init(_ run: Run, _ power: Power, for trackable: TrackableID?) throws {
        let seed = trackable.map { SimulatedSource.seed(for: $0.rawValue) } ?? 1
        let pace = try ReplayPace.parse(run.input.speed)
        let specifications = try run.input.specifications()
        self.reader = SourceReader(
            try specifications.map { try run.makeSource($0, pace: pace, seed: seed) }, waitsForBroker: pace == .maximum,
            wireless: run.capture.wifi ? WirelessNetwork() : nil, logger: Logger(label: "godwit.agent"))
        self.power = power
        self.readsStandardInput = specifications.contains(where: \.readsStandardInput)
    }

    /// The connection from the sources of positions to the publisher. It passes fixes on to the publisher, and holds
    /// them while no publisher is connected.
    var relay: PublisherRelay<AssetPublisher<AgentTransport>> { self.reader.relay }

    /// Reads the sources whenever the agent is on. Returns `true` when the sources have ended, and `false` when the
    /// task is cancelled.
    ///
    /// - Throws: `inputUnreadable` if a recording cannot be read.
    func run() async throws -> Bool {
        while !Task.isCancelled {
            await self.waitUntilOn()
            let haveEnded = try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await self.reader.run()
                    return !Task.isCancelled
                }
                group.addTask {
                    await self.power.wait(untilOn: false)
                    return false
                }
                defer { group.cancelAll() }
                return try await group.next() ?? false
            }
            if haveEnded { return true }
        }
        return false
    }

    /// Waits until the agent is switched on. Meanwhile, standard input is read and discarded, because positions from
    /// the time when the agent was off must never be published.
    private func waitUntilOn() async {
        guard !self.power.isOn else { return }
        await withDiscardingTaskGroup { group in
            if self.readsStandardInput { group.addTask { await StandardInput.discard() } }
            await self.power.wait(untilOn: true)
            group.cancelAll()
        }
    }
}
