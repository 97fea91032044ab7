import GodwitOptions
import Logging
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// The reader of the device's sources, which reads while the agent is on.
struct SwitchedReader: Sendable {
    let reader: SourceReader<MQTTTransport>
    private let power: Power
    /// `true` if a source reads standard input.
    private let readsStandardInput: Bool

    /// Makes the reader that the options describe.
    ///
    /// - Throws: `invalidConfiguration` for a wrong source.
    init(_ run: Run, _ power: Power) throws {
        let pace = try ReplayPace.parse(run.input.speed)
        let specifications = try run.input.specifications()
        self.reader = SourceReader(
            try specifications.map { try $0.makeSource(pace: pace) }, waitsForBroker: pace == .maximum,
            wireless: run.capture.wifi ? WirelessNetwork() : nil, logger: Logger(label: "godwit.agent"))
        self.power = power
        self.readsStandardInput = specifications.contains(where: \.readsStandardInput)
    }

    /// The way to the publisher.
    var relay: PublisherRelay<AssetPublisher<MQTTTransport>> { self.reader.relay }

    /// Reads while the agent is on. Returns `true` when the sources have ended, `false` when the task is cancelled.
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

    /// Waits until the agent is on. Meanwhile standard input is discarded, since its fixes must never be published.
    private func waitUntilOn() async {
        guard !self.power.isOn else { return }
        await withDiscardingTaskGroup { group in
            if self.readsStandardInput { group.addTask { await StandardInput.discard() } }
            await self.power.wait(untilOn: true)
            group.cancelAll()
        }
    }
}
