import GodwitOptions
import Logging
import Synchronization
import TrackingCore
import TrackingMQTT
import TrackingPublisher
import TrackingRuntime

/// Reads the device's sources for as long as the agent runs and is on, whatever becomes of its connections: a recording goes on
/// where it was, and of a pipe no line is lost.
struct SourceReader: Sendable {
    let outlet: Outlet<AssetPublisher<MQTTTransport>>
    private let sources: SourceRunner
    private let power: Power
    /// Whether something is piped into the agent.
    private let readsStandardInput: Bool
    /// Whether a recording is read faster than it was made: nothing of it may be passed over.
    private let isBulkRead: Bool
    /// The network whose name rides along with each point; `nil`: none does.
    private let wireless: WirelessNetwork?
    private let logger = Logger(label: "godwit.agent")

    /// How many fixes of what can wait, a file or a pipe, may be on their way to the log.
    private static let unloggedFixes = 256

    /// - Throws: What the rules of sources say.
    init(_ run: Run, _ power: Power) throws {
        let outlet = Outlet<AssetPublisher<MQTTTransport>>()
        let pace = try ReplayPace.parse(run.speed)
        let specifications = try run.source.map { try SourceSpecification.parse($0) }
        self.outlet = outlet
        self.sources = SourceRunner(
            try specifications.map { try $0.makeSource(pace: pace) },
            catchUp: pace == .maximum ? nil : Self.catchUp(outlet))
        self.power = power
        self.readsStandardInput = specifications.contains(where: \.readsStandardInput)
        self.isBulkRead = pace == .maximum
        self.wireless = run.capture.wifi ? WirelessNetwork() : nil
    }

    /// Waits for the log now and then.
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

    /// Says which resolution is wanted from now on.
    func use(_ resolution: Resolution) async { await self.sources.use(resolution) }

    /// Reads whenever the agent is on, until the sources end by themselves: then, and only then, the answer is `true`.
    ///
    /// - Throws: `inputUnreadable` when a recording cannot be read.
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

    /// What is piped in while the agent is off is passed over: nobody is to see it, later either.
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
            let unsaid = warnings.withLock { $0.takeUnsaid() }
            if unsaid > 0 { self.logger.warning("more input was refused", metadata: ["unsaid": "\(unsaid)"]) }
        }
        try await self.sources.run { event in
            switch event {
            case .fix(let measured): await self.publish(measured.addingWireless(self.wireless?.name))
            case .badInput(let what):
                let verdict = warnings.withLock { $0.happened(0, now: SourceClock.now) }
                guard case .say(let unsaid) = verdict else { return }
                self.logger.warning("input refused", metadata: ["what": "\(what)", "unsaid": "\(unsaid)"])
            case .notice(let notice): await self.heard(notice)
            }
        }
    }

    private func publish(_ fix: Location) async {
        await self.outlet.hand { publisher, receipt in
            guard !self.isBulkRead else { return publisher.publish(fix, receipt: receipt) }
            publisher.publish(fix)
            receipt.resume()
        }
    }

    private func heard(_ notice: SourceNotice) async {
        switch notice {
        case .selected(let source):
            self.logger.info("source selected", metadata: ["source": "\(source)"])
        case .lost(let source, let reason):
            self.logger.warning("source lost", metadata: ["source": "\(source)", "reason": "\(reason)"])
            await self.tell(.sourceLost, ["source": .text(source), "reason": .text(reason.message)])
        case .found(let source):
            self.logger.info("source found", metadata: ["source": "\(source)"])
        case .dateCorrected(let source, let rollovers):
            await self.tellJump(of: source, rollovers, isCorrected: true)
        case .dateSuspect(let source, let rollovers):
            await self.tellJump(of: source, rollovers, isCorrected: false)
        }
    }

    private func tellJump(of source: String, _ rollovers: Int, isCorrected: Bool) async {
        await self.tell(
            .clockJump,
            [
                "source": .text(source), "weeks": .number(Double(rollovers) * 1024), "corrected": .flag(isCorrected),
            ])
    }

    private func tell(_ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue]) async {
        await self.outlet.hand { publisher, receipt in
            // The details here are a few members of this program's own.
            try? publisher.tell(kind, detail)
            receipt.resume()
        }
    }
}
