package import Logging
import Synchronization
package import TrackingCore
import TrackingRuntime

/// The reader of a device's sources. It selects among them, and delivers their fixes and notices to the running
/// publisher.
///
/// The reader continues when one publisher follows another. A recording then continues at its place, and no line of a
/// pipe is lost.
package struct SourceReader<Transport: MessageTransport>: Sendable {
    /// The link that passes fixes to the running publisher. While no publisher is connected to it, the reader waits
    /// with the next fix.
    package let relay: PublisherRelay<AssetPublisher<Transport>>
    private let sources: SourceRunner
    private let waitsForBroker: Bool
    private let wireless: WirelessNetwork?
    private let logger: Logger

    /// The number of fixes from a file or a pipe after which the reader waits for the log.
    private static var unloggedFixes: Int { 256 }

    /// Makes a reader of sources, at least one.
    ///
    /// - Parameters:
    ///   - sources: The sources. Among equal sources, the first one is preferred.
    ///   - waitsForBroker: `true` to continue after a fix only when everything published so far was acknowledged, or
    ///     the broker rejects the device or all its trackables. A recording that is read as fast as possible then skips
    ///     no fix.
    ///   - wireless: The wireless network whose name each fix gets; `nil` for none.
    ///   - logger: The logger of changes of the source and of bad input.
    package init(
        _ sources: [any LocationSource], waitsForBroker: Bool = false, wireless: WirelessNetwork? = nil, logger: Logger
    ) {
        let relay = PublisherRelay<AssetPublisher<Transport>>()
        self.relay = relay
        self.sources = SourceRunner(sources, catchUp: waitsForBroker ? nil : Self.catchUp(relay))
        self.waitsForBroker = waitsForBroker
        self.wireless = wireless
        self.logger = logger
    }

    /// Returns a function to call after each fix. After every ``unloggedFixes`` calls, it waits until all fixes are in
    /// the log.
    private static func catchUp(_ relay: PublisherRelay<AssetPublisher<Transport>>) -> @Sendable () async -> Void {
        let count = Counter()
        return {
            if count.next() % Self.unloggedFixes == 0 { await relay.publisher?.publishedIsLogged() }
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

    /// Passes the resolution that the trackables need from now on to all sources of fixes.
    package func use(_ resolution: Resolution) async { await self.sources.use(resolution) }

    /// The time until which the receiver sleeps, by the device's clock; `nil` while it is awake, or the source has none.
    package var asleepUntil: UnixTime? {
        self.sources.asleepUntil.map { DeviceClock.wall.advanced(by: DeviceClock.now.duration(to: $0)) }
    }

    /// Reads the sources and passes their fixes to the publisher, until all sources have ended or the task is
    /// cancelled.
    ///
    /// - Throws: `inputUnreadable` if a recording cannot be read.
    package func run() async throws(TrackingError) {
        let warnings = Mutex(WarningLimit<Int>())
        defer {
            let suppressed = warnings.withLock { $0.takeSuppressed() }
            if suppressed > 0 {
                self.logger.warning(
                    "Further invalid input lines of position sources were ignored, and not logged one by one",
                    metadata: ["count": "\(suppressed)"])
            }
        }
        try await self.sources.run { event in
            switch event {
            case .fix(let measured): await self.publish(measured.addingWireless(self.wireless?.name))
            case .badInput(let reason):
                let verdict = warnings.withLock { $0.happened(0, now: DeviceClock.now) }
                guard case .say(let suppressed) = verdict else { return }
                self.logger.warning(
                    "Invalid input line from a position source ignored, in whole or in part: the other lines are used. If this occurs often, check the cable and the speed of the serial line",
                    metadata: ["reason": "\(reason)", "not logged": "\(suppressed)"])
            case .notice(let notice): await self.received(notice)
            }
        }
    }

    private func publish(_ fix: Location) async {
        await self.relay.deliver { publisher, receipt in
            guard !self.waitsForBroker else { return publisher.publish(fix, receipt: receipt) }
            publisher.publish(fix)
            receipt.resume()
        }
    }

    private func received(_ notice: SourceNotice) async {
        switch notice {
        case .selected(let source):
            self.logger.info(
                "Position source selected: the publisher uses the fixes of this source",
                metadata: ["source": "\(source)"])
        case .lost(let source, let reason):
            self.logger.warning(
                "Position source lost: it delivers no fixes. The program tries it again after waits of up to 60 s, and uses another source meanwhile if there is one",
                metadata: ["source": "\(source)", "reason": "\(reason)"])
            await self.publish(.sourceLost, ["source": .text(source), "reason": .text(reason.message)])
        case .found(let source):
            self.logger.info("Position source works again: it delivers fixes", metadata: ["source": "\(source)"])
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
        await self.relay.deliver { publisher, receipt in
            // Cannot fail: the details are few and short.
            try? publisher.recordEvent(kind, detail)
            receipt.resume()
        }
    }
}
