import HTTPTypes
import Synchronization
package import TrackingCore
import TrackingRuntime

/// Sets journeys through the gateway's connection to the broker, and waits until the broker has stored them.
///
/// A broker with MQTT 3.1.1 acknowledges also a message that it rejects. The desk therefore waits until the gateway has
/// received the journey that it published.
package final class JourneyDesk: Sendable {
    /// The longest time that one change of a journey takes: 10 s.
    package static let patience = Duration.seconds(10)
    /// The largest number of changes that run or wait at once: 64.
    static let maximum = 64

    private enum Outcome {
        case stored, notStored, unanswered
        case failed(TrackingError)
    }

    private let publish: @Sendable (Journey?, TrackableID) async throws(TrackingError) -> Void
    private let arrives: @Sendable (Journey?, TrackableID, MonotonicTime) async -> Bool
    /// The trackables whose journey is being changed.
    private let changing = Mutex<Set<TrackableID>>([])
    private let waiting = Mutex(0)
    private let changed = WakeSignal()
    private let patience: Duration
    private let clock = DeviceClock()

    /// Creates the desk without a change of a journey.
    ///
    /// - Parameters:
    ///   - patience: The longest time that one change of a journey takes.
    ///   - publish: Publishes a journey, or clears it (`nil`), and returns once the broker has acknowledged it.
    ///   - arrives: Waits until the gateway has received a journey from the broker, or that it was cleared (`nil`).
    ///     Returns `false` after the deadline.
    package init(
        patience: Duration = JourneyDesk.patience,
        publish: @escaping @Sendable (Journey?, TrackableID) async throws(TrackingError) -> Void,
        arrives: @escaping @Sendable (Journey?, TrackableID, MonotonicTime) async -> Bool
    ) {
        self.publish = publish
        self.arrives = arrives
        self.patience = patience
    }

    /// Runs a change of a trackable's journey while no other change of it runs. So the condition of a request, such as
    /// `If-Match`, holds until its change.
    ///
    /// - Throws: `Problem` (429) if too many changes wait, (503) if an earlier change does not end in time; the error
    ///   of `body`.
    func exclusively<Value>(_ id: TrackableID, _ body: () async throws -> Value) async throws -> Value {
        try self.enter()
        defer { self.waiting.withLock { $0 -= 1 } }
        let deadline = self.clock.moment.now.advanced(by: self.patience)
        let isFree = await self.changed.wait(until: deadline) { self.changing.withLock { $0.insert(id).inserted } }
        guard isFree else {
            throw Problem(
                .serviceUnavailable, "Another change of this journey has not ended within 10 s: try again later.")
        }
        defer {
            self.changing.withLock { _ = $0.remove(id) }
            self.changed.notify()
        }
        return try await body()
    }

    /// Publishes a journey of a trackable, or clears it (`nil`), and returns once the broker has stored it.
    ///
    /// - Throws: `Problem`: 502 if the broker does not let the gateway set journeys, 503 if the broker cannot be reached
    ///   or has not stored the journey in time.
    func set(_ journey: Journey?, of id: TrackableID) async throws {
        switch await self.outcome(of: journey, id) {
        case .stored: return
        case .failed(let error) where error.code == .notAuthorized:
            throw Problem(
                .badGateway,
                "The broker does not let the gateway set journeys. Give it the right with broker/add-gateway --commands."
            )
        case .failed(let error) where error.code == .connectionLost:
            throw Problem(
                .serviceUnavailable,
                "The journey was not changed: the gateway has no connection to the broker. Try again later.")
        case .failed(let error):
            throw Problem(.serviceUnavailable, "The journey was not changed: \(error.message).")
        case .unanswered:
            throw Problem(
                .serviceUnavailable,
                "The broker did not acknowledge the journey within 10 s. It may store the journey later: read the journey, and try again."
            )
        case .notStored:
            throw Problem(
                .serviceUnavailable,
                "The broker acknowledged the journey, but did not store it. The gateway may have no right to write and read journeys, which broker/add-gateway --commands gives; or another program changed the journey at the same time."
            )
        }
    }

    private func outcome(of journey: Journey?, _ id: TrackableID) async -> Outcome {
        let deadline = self.clock.moment.now.advanced(by: self.patience)
        let (publish, arrives, clock) = (self.publish, self.arrives, self.clock)
        return await withTaskGroup(of: Outcome.self) { group in
            group.addTask {
                do throws(TrackingError) { try await publish(journey, id) } catch { return .failed(error) }
                return await arrives(journey, id, deadline) ? .stored : .notStored
            }
            group.addTask {
                // The other task knows more at the deadline, so it has a moment longer.
                await clock.sleep(until: deadline.advanced(by: .milliseconds(200)))
                return .unanswered
            }
            let first = await group.next() ?? .unanswered
            group.cancelAll()
            return first
        }
    }

    private func enter() throws(Problem) {
        let isFull = self.waiting.withLock { waiting in
            guard waiting < Self.maximum else { return true }
            waiting += 1
            return false
        }
        guard !isFull else {
            throw Problem(
                .tooManyRequests, "Too many changes of journeys wait for the broker: try again later.",
                headers: [.retryAfter: "5"])
        }
    }
}
