import ArgumentParser
import GodwitOptions
import Logging
import ServiceLifecycle
import TrackingCore
import TrackingMQTT
import TrackingPublisher
import TrackingRuntime
import TrackingStore

/// `godwit replay`: publishes recorded points, trips and events again, for another trackable.
struct Replay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Publish recorded points, trips and events again, under another id.",
        discussion: """
            Each record is published when it is due, with its recorded time; points are marked as a replay, and those \
            with a wrong clock are left out. The command ends after the last record is acknowledged.

            Example:
              godwit replay van-7 --last 1h --speed 10x --as van-7-again
            """)

    @Argument(help: "The id of the recorded trackable.", transform: TrackableID.checked)
    var id: TrackableID

    @OptionGroup var span: SpanOptions

    @Option(help: ArgumentHelp("Replay at this speed, 0.001 to 1000000: 10x, 0.5x; or max.", valueName: "n"))
    var speed = "1x"

    @Option(
        name: .customLong("as"), help: ArgumentHelp("Publish the records for this trackable.", valueName: "id"),
        transform: TrackableID.checked)
    var newID: TrackableID

    @OptionGroup(title: "History") var store: StoreOptions
    @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

    func validate() throws {
        _ = try self.pace()
        guard self.newID != self.id else {
            throw ValidationError(
                "--as must name another trackable, so that the recorded history and its replay are not mixed")
        }
    }

    private func pace() throws -> ReplayPace {
        try checked { () throws(TrackingError) in
            // The word `max` also ends with an x, which is no multiplication sign.
            let isTimes = self.speed.hasSuffix("x") && self.speed != "max"
            return try ReplayPace.parse(isTimes ? String(self.speed.dropLast()) : self.speed)
        }
    }

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        let query = PointQuery(self.id, during: try self.span.times(now: TimeText.now))
        let identity = try self.broker.identity()
        var configuration = PublisherConfiguration(client: identity.client, session: identity.session)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.isClientRandom = identity.isRandom
        configuration.defaultResolution = try Resolution(
            accuracy: .maximum, desiredInterval: .zero, minimumDisplacement: 0)
        // The trackable remains present until the replay is over, however long nothing happens.
        configuration.intakeLease = .seconds(1e8)
        let publisher = AssetPublisher(
            configuration: configuration, transport: try self.broker.transport(for: configuration))
        publisher.add(Trackable(self.newID))
        let player = HistoryPlayer(
            publisher: publisher, id: self.newID, pace: try self.pace(), failsFast: self.broker.failFast)
        try await self.store.use { store in
            if try await isNothingStored(of: self.id, in: store) {
                try await nothingIsStored(of: self.id, in: store)
            }
            try await player.run(query, of: store)
        }
    }
}

/// Publishes recorded points, trips and events again: at the pace at which they were recorded, at a multiple of it, or
/// as fast as possible.
struct HistoryPlayer {
    let publisher: AssetPublisher<MQTTTransport>
    /// The target of the replay: the trackable under whose id the recorded data is published again (`--as`).
    let id: TrackableID
    let pace: ReplayPace
    let failsFast: Bool

    /// The longest wait for the acknowledgement of a trip or an event. After that, the replay goes on, and the
    /// publisher still tries to send the record.
    private static let patience = Duration.seconds(10)

    /// Publishes all records that the query finds, except points with a wrong clock. Ends when each of them is
    /// acknowledged, when a signal arrives, or when the broker refuses the connection. With `failsFast`, also ends when
    /// the broker cannot be reached.
    ///
    /// - Throws: The error that ended the replay.
    func run(_ query: PointQuery, of store: any HistoryStore) async throws {
        let ending = Ending()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                do { try await self.play(query, of: store) } catch is CancellationError {} catch { ending.note(error) }
                self.publisher.finish()
            }
            let changes = self.publisher.connectionChanges
            group.addTask {
                for await case let lost? in changes {
                    guard let reason = lost.failure, reason.isRefusal || self.failsFast else {
                        continue
                    }
                    ending.note(reason)
                    self.publisher.finish(within: .zero)
                }
            }
            do { try await Program.run(self.publisher) } catch { ending.note(error) }
            group.cancelAll()
        }
        if let error = ending.error { throw error }
    }

    private func play(_ query: PointQuery, of store: any HistoryStore) async throws {
        var happenings = try await RecordedHappenings(query, of: store)
        var clock = ReplayClock(pace: self.pace)
        try await store.readAll(query) { page in
            for point in page where !point.hasClockFault {
                while let next = happenings.next(until: point.location.time) { try await self.play(next, &clock) }
                try await clock.wait(for: point.location.time)
                await self.publisher.publishAndWait(point.location.replayed)
            }
        }
        while let next = happenings.next() { try await self.play(next, &clock) }
    }

    private func play(_ draft: RecordDraft, _ clock: inout ReplayClock) async throws {
        try await clock.wait(for: draft.time)
        do throws(TrackingError) {
            _ = try await self.publisher.take([draft], for: self.id, within: Self.patience)
        } catch {
            switch error.code {
            case .brokerUnreachable, .notAcknowledged: break
            case .payloadTooLarge:
                // The history may contain larger events than subscribers accept.
                Program.complain(
                    "cannot publish the recorded event of \(TimeText.rfc3339(draft.time)): \(error.message)")
            // The end of the publisher reports the reason.
            case .stopped: throw CancellationError()
            default: throw error
            }
        }
    }
}

/// The clock of a replay, which makes the replay wait until a record is due.
private struct ReplayClock {
    private var pacer: ReplayPacer
    private let start = DeviceClock.now

    init(pace: ReplayPace) { self.pacer = ReplayPacer(pace: pace) }

    mutating func wait(for time: UnixTime) async throws {
        try Task.checkCancellation()
        let now = MonotonicTime(.zero).advanced(by: self.start.duration(to: DeviceClock.now))
        if let due = self.pacer.due(time, now: now) { try await Task.sleep(for: now.duration(to: due)) }
    }
}
