import GodwitOptions
import Logging
import Synchronization
import TrackingCore
import TrackingMQTT
import TrackingPublisher
import TrackingRuntime

/// Reads the agent's sources of positions. It runs while the agent is on, across all connections: a recording continues
/// at its place, and no line of a pipe is lost.
struct SourceReader: Sendable {
    let outlet: Outlet<AssetPublisher<MQTTTransport>>
    private let sources: SourceRunner
    private let power: Power
    /// `true` if one of the sources reads standard input.
    private let readsStandardInput: Bool
    /// `true` if a recording is read as fast as possible, so that no fix may be skipped.
    private let isBulkRead: Bool
    /// The reader of the wireless network's name, which is added to each point; `nil` without `--wifi`.
    private let wireless: WirelessNetwork?
    private let logger = Logger(label: "godwit.agent")

    /// The number of fixes from a file or a pipe after which the reader waits until they are in the log.
    private static let unloggedFixes = 256

    /// Makes a reader of the sources that the options of `godwit-agent run` describe.
    ///
    /// - Throws: `invalidConfiguration` for an invalid `--source` or `--speed`.
    init(_ run: Run, _ power: Power) throws {
        let outlet = Outlet<AssetPublisher<MQTTTransport>>()
        let pace = try ReplayPace.parse(run.input.speed)
        let specifications = try run.input.specifications()
        self.outlet = outlet
        self.sources = SourceRunner(
            try specifications.map { try $0.makeSource(pace: pace) },
            catchUp: pace == .maximum ? nil : Self.catchUp(outlet))
        self.power = power
        self.readsStandardInput = specifications.contains(where: \.readsStandardInput)
        self.isBulkRead = pace == .maximum
        self.wireless = run.capture.wifi ? WirelessNetwork() : nil
    }

    /// Returns a function that, at every call numbered a multiple of ``unloggedFixes``, waits until all fixes are in
    /// the log.
    private static func catchUp(_ outlet: Outlet<AssetPublisher<MQTTTransport>>) -> @Sendable () async -> Void {
        let count = Counter()
        return {
            if count.next() % Self.unloggedFixes == 0 { await outlet.publisher?.publishedIsLogged() }
        }
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)
        func next() -> Int {
            self.count.withLock { count in
                count += 1
                return count
            }
        }
    }

    /// Asks the receivers for this resolution from now on.
    func use(_ resolution: Resolution) async { await self.sources.use(resolution) }

    /// Reads the sources while the agent is on. Returns `true` when the sources have ended, `false` when the task is
    /// cancelled.
    ///
    /// - Throws: `inputUnreadable` if a recording cannot be read.
    func run() async throws -> Bool {
        while !Task.isCancelled {
            await self.waitUntilOn()
            let haveEnded = try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await self.read()
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

    /// Waits until the agent is on. Until then, standard input is read and discarded, because fixes from that time must
    /// never be published.
    private func waitUntilOn() async {
        guard !self.power.isOn else { return }
        await withDiscardingTaskGroup { group in
            if self.readsStandardInput { group.addTask { await StandardInput.discard() } }
            await self.power.wait(untilOn: true)
            group.cancelAll()
        }
    }

    private func read() async throws(TrackingError) {
        let warnings = Mutex(WarningLimit<Int>())
        defer {
            let suppressed = warnings.withLock { $0.takeSuppressed() }
            if suppressed > 0 {
                self.logger.warning(
                    "Further invalid input lines from position sources ignored", metadata: ["count": "\(suppressed)"])
            }
        }
        try await self.sources.run { event in
            switch event {
            case .fix(let measured): await self.publish(measured.addingWireless(self.wireless?.name))
            case .badInput(let reason):
                let verdict = warnings.withLock { $0.happened(0, now: DeviceClock.now) }
                guard case .say(let suppressed) = verdict else { return }
                self.logger.warning(
                    "Invalid input line from a position source ignored",
                    metadata: ["reason": "\(reason)", "suppressed": "\(suppressed)"])
            case .notice(let notice): await self.received(notice)
            }
        }
    }

    private func publish(_ fix: Location) async {
        await self.outlet.deliver { publisher, receipt in
            guard !self.isBulkRead else { return publisher.publish(fix, receipt: receipt) }
            publisher.publish(fix)
            receipt.resume()
        }
    }

    private func received(_ notice: SourceNotice) async {
        switch notice {
        case .selected(let source):
            self.logger.info("Position source selected", metadata: ["source": "\(source)"])
        case .lost(let source, let reason):
            self.logger.warning("Position source lost", metadata: ["source": "\(source)", "reason": "\(reason)"])
            await self.publish(.sourceLost, ["source": .text(source), "reason": .text(reason.message)])
        case .found(let source):
            self.logger.info("Position source works again", metadata: ["source": "\(source)"])
        case .dateCorrected(let source, let rollovers):
            await self.publishClockJump(of: source, rollovers, isCorrected: true)
        case .dateSuspect(let source, let rollovers):
            await self.publishClockJump(of: source, rollovers, isCorrected: false)
        }
    }

    private func publishClockJump(of source: String, _ rollovers: Int, isCorrected: Bool) async {
        await self.publish(
            .clockJump,
            [
                "source": .text(source), "weeks": .number(Double(rollovers) * 1024), "corrected": .flag(isCorrected),
            ])
    }

    private func publish(_ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue]) async {
        await self.outlet.deliver { publisher, receipt in
            // Recording the event cannot fail, because its details are few and short.
            try? publisher.recordEvent(kind, detail)
            receipt.resume()
        }
    }
}
