import Synchronization
import TrackingCore
import TrackingRuntime

@testable import TrackingPublisher

/// Collects events, and lets one test at a time wait for an event with a deadline.
final class EventLog<Element: Sendable>: Sendable {
    struct TimedOut: Error, CustomStringConvertible {
        var description: String
    }

    private let elements = Mutex<[Element]>([])
    private let failure = Mutex<(any Error)?>(nil)
    private let waiter = Waiter()

    var all: [Element] { self.elements.withLock { $0 } }

    func append(_ element: Element) {
        self.elements.withLock { $0.append(element) }
        self.waiter.signal(.news)
    }

    /// Ends the waits for events, because none will follow.
    func fail(_ error: any Error) {
        self.failure.withLock { $0 = error }
        self.waiter.signal(.news)
    }

    /// Returns when `condition` holds for the collected events. Throws the error of ``fail(_:)`` if there is one.
    func wait(
        for what: String, within limit: Duration = .seconds(60), until condition: ([Element]) -> Bool
    ) async throws {
        let deadline = DeviceClock.now.advanced(by: limit)
        while !condition(self.all) {
            if let failure = self.failure.withLock({ $0 }), !condition(self.all) { throw failure }
            if DeviceClock.now > deadline { throw TimedOut(description: "no \(what) within \(limit); got \(self.all)") }
            try Task.checkCancellation()
            let id = Poller.shared.arm(Poller.Interest(deadline: deadline), self.waiter)
            _ = await self.waiter.next()
            Poller.shared.disarm(id)
        }
    }
}

extension EventLog<SourceEvent> {
    var fixes: [Location] {
        self.all.compactMap { if case .fix(let location) = $0 { location } else { nil } }
    }

    var badInputs: [String] {
        self.all.compactMap { if case .badInput(let text) = $0 { text } else { nil } }
    }

    var notices: [SourceNotice] {
        self.all.compactMap { if case .notice(let notice) = $0 { notice } else { nil } }
    }

    func waitForFixes(_ count: Int) async throws {
        try await self.wait(for: "\(count) fixes") { _ in self.fixes.count >= count }
    }
}

/// Runs a source until `body` returns. Throws the error of the source if it ends before that.
func whileRunning(
    _ source: some LocationSource, _ body: (EventLog<SourceEvent>) async throws -> Void
) async throws {
    let log = EventLog<SourceEvent>()
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            do {
                try await source.run { log.append($0) }
            } catch {
                log.fail(error)
                throw error
            }
        }
        try await body(log)
        group.cancelAll()
        try await group.waitForAll()
    }
}

/// Runs a source to its end.
func runToEnd(_ source: some LocationSource) async -> (log: EventLog<SourceEvent>, error: TrackingError?) {
    let log = EventLog<SourceEvent>()
    do throws(TrackingError) {
        try await source.run { log.append($0) }
        return (log, nil)
    } catch {
        return (log, error)
    }
}

extension [SourceEvent] {
    var fixes: [Location] { self.compactMap { if case .fix(let location) = $0 { location } else { nil } } }
}

extension Resolution {
    /// A resolution of which only interval and accuracy matter.
    static func every(milliseconds: Int, _ accuracy: Accuracy = .high) -> Resolution {
        // Written in a test, with an interval in range.
        try! Resolution(
            accuracy: accuracy, desiredInterval: .milliseconds(milliseconds), minimumDisplacement: 0)
    }
}
