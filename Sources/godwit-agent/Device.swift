import GodwitOptions
import Logging
import ServiceLifecycle
import TrackingControl
import TrackingCore
import TrackingPublisher

/// One connection of the agent to the broker, with everything that ends together with it: the publisher, the reader of
/// the battery, the commands from the broker, and the program for events.
struct Device: Sendable {
    let publisher: AssetPublisher<AgentTransport>
    /// The connection of the publisher to the broker, or to the sink in place of one.
    let transport: AgentTransport
    /// The client id and the id of the run with which the publisher connects to the broker.
    let identity: Identity
    let reader: SourceReader<AgentTransport>
    let battery: (any BatterySource)?
    let failsFast: Bool
    /// The object that runs the user's program for each event; `nil` without the option `--notify`.
    let notifier: Notifier?
    /// The recorders for which the connection waits when the sources of positions have ended: those of
    /// `--acknowledge-by`, unless records are sent on request only.
    let awaitedRecorders: Set<ClientID>

    private let ending = Ending()
    /// The reason why the awaited recorders did not acknowledge every record; without an error if they did.
    private let recorders = Ending()
    /// The ends of the sources of positions, each with the error that ended them; `nil` for an orderly end.
    private let sourcesEnds = AsyncStream.makeStream(of: TrackingError?.self)
    private let logger = Logger(label: "godwit.agent")

    /// Makes a connection for this publisher, with the battery and the program for events that the options describe.
    ///
    /// - Throws: `invalidConfiguration` if the option for the battery is invalid, `ValidationError` if one of the
    ///   recorders is.
    init(
        publisher: AssetPublisher<AgentTransport>, transport: AgentTransport, identity: Identity,
        reader: SourceReader<AgentTransport>, run: Run
    ) throws {
        self.publisher = publisher
        self.transport = transport
        self.identity = identity
        self.reader = reader
        self.battery = try BatterySpecification.parse(run.input.battery).makeSource()
        self.failsFast = run.broker.failFast
        self.notifier = run.controls.notify.map { Notifier($0) }
        self.awaitedRecorders = run.recording.batchWindow == "off" ? [] : try run.recording.recorders()
    }

    private enum Part { case delivered, waited }

    /// Ends the connection because the sources of positions have ended (`nil`) or failed. The publisher first sends the
    /// remaining fixes, after a failure for at most 5 s. After an orderly end, it also waits until the recorders have
    /// acknowledged all records.
    func sourcesEnded(_ error: TrackingError?) {
        self.ending.note(error)
        self.sourcesEnds.continuation.yield(error)
    }

    private func finishAfterSources(_ connections: AsyncStream<Disconnection?>) async {
        for await error in self.sourcesEnds.stream {
            if error == nil, !self.awaitedRecorders.isEmpty { await self.sendEverything(connections) }
            self.publisher.finish(within: error == nil ? nil : .seconds(5))
        }
    }

    /// Sends all pending records, and waits until the recorders have acknowledged them. Gives up when no record was
    /// acknowledged for 70 s, or when the broker refuses the device. Without a connection, waits for one.
    private func sendEverything(_ connections: AsyncStream<Disconnection?>) async {
        var changes = connections.makeAsyncIterator()
        while true {
            do throws(TrackingError) {
                _ = try await self.publisher.flush { _, _ in }
                return
            } catch  where error.code == .brokerUnreachable {
                repeat {
                    guard let change = await changes.next(), change?.failure?.isRefusal != true else { return }
                    if change == nil { break }
                } while true
            } catch  where error.code == .stopped {
                return
            } catch {
                let names = self.awaitedRecorders.map(\.rawValue).sorted().joined(separator: ", ")
                return self.recorders.note(
                    TrackingError(
                        .notAcknowledged,
                        "the sources ended, and the recorders of --acknowledge-by (\(names)) have not acknowledged every record: \(error.message) \(Self.remedy)"
                    ))
            }
        }
    }

    /// Runs the connection until the sources of positions end, a shutdown is requested, or an error makes it pointless
    /// to go on. The program for events then has 2 s more for the remaining events.
    ///
    /// - Throws: The error that ended the connection; nothing after an orderly end.
    func run(_ dispatcher: ControlDispatcher) async throws {
        // The events are subscribed to before the publisher runs, so that no event is missed.
        let events = self.notifier.map { _ in self.publisher.trackingEvents }
        await withTaskGroup(of: Part.self) { group in
            guard let notifier = self.notifier, let events else { return await self.track(dispatcher) }
            group.addTask {
                await notifier.run(events) { self.publisher.lostTrackingEvents }
                return .delivered
            }
            await self.track(dispatcher)
            group.addTask {
                try? await Task.sleep(for: Notifier.farewell)
                return .waited
            }
            let first = await group.next()
            // The runner is not cancelled here, because that would lose the count of the remaining events.
            if first == .waited { notifier.leave() } else { group.cancelAll() }
        }
        if let error = self.ending.error { throw error }
    }

    private func track(_ dispatcher: ControlDispatcher) async {
        let (connections, changes) = (self.publisher.connectionChanges, self.publisher.connectionChanges)
        let states = self.publisher.states
        let commands = self.publisher.commands
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                guard let error = await self.fatal(connections) else { return }
                self.ending.note(error)
                self.publisher.finish(within: .zero)
            }
            group.addTask { await self.watch(states) }
            group.addTask { await self.finishAfterSources(changes) }
            group.addTask { await RemoteCommands(self.publisher, dispatcher).run(commands) }
            do { try await self.publisher.run(steering: self.reader, battery: self.battery) } catch {
                // During a shutdown, a refusal is not an error: it was reported when it happened.
                let isRefusal = (error as? TrackingError)?.exitCode == .refused
                if !(isRefusal && Task.isShuttingDownGracefully) { self.ending.note(error) }
            }
            group.cancelAll()
        }
        self.reportUnacknowledged()
    }

    /// Reports an error if the sources ended and the log still has records, because the sink or a recorder did not
    /// acknowledge them.
    private func reportUnacknowledged() {
        guard self.publisher.recordsAtEnd > 0, !Task.isShuttingDownGracefully else { return }
        if let reason = self.transport.sinkFailure {
            self.ending.note(
                TrackingError(
                    .notAcknowledged,
                    "the server of --forward has not acknowledged every record: \(reason). \(Self.remedy)"))
        }
        self.ending.note(self.recorders.error)
    }

    private static let remedy =
        "The records remain in the log, unless --spool is memory. Start the agent again to send them"

    /// Waits for a failed attempt to connect to the broker that must end the program. With `--fail-fast`, returns the
    /// reason of the first failed attempt. Without it, returns `nil` once no more changes of the connection follow.
    private func fatal(_ connections: AsyncStream<Disconnection?>) async -> TrackingError? {
        for await change in connections {
            if self.failsFast, let reason = change?.failure { return reason }
        }
        return nil
    }

    /// Watches the states in which the trackables are published. Ends the connection with an error when every tracked
    /// trackable has failed, because nothing more can be sent. With `--fail-fast`, ends it as soon as the broker
    /// rejects one trackable.
    private func watch(_ states: AsyncStream<TrackableStateChange>) async {
        var last: [TrackableID: PublisherState] = [:]
        for await change in states {
            last[change.trackable] = change.state
            if let reason = change.reason {
                self.logger.warning(
                    "Publishing state of a trackable changed because of a problem: the agent tries an OFFLINE trackable again, but not a FAILED one. Follow the reason; after FAILED, start the agent again",
                    metadata: [
                        "trackable": "\(change.trackable)", "state": "\(change.state.rawValue)", "reason": "\(reason)",
                    ])
            }
            if self.failsFast, let reason = change.reason, reason.isRefusal {
                self.ending.note(reason)
                self.publisher.finish(within: .zero)
            }
            last = last.filter { self.publisher.state(of: $0.key) != nil }
            // Points that were unsent when another publisher took over are sent first, however long that takes.
            let limit: Duration? = change.reason?.code == .takenOver ? nil : .seconds(2)
            guard !last.isEmpty, last.values.allSatisfy({ $0 == .failed }) else { continue }
            // This end is an error, even if a shutdown is requested meanwhile.
            self.ending.note(change.reason)
            self.publisher.finish(within: limit)
        }
    }
}
