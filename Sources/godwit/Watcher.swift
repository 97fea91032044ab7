import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingMQTT
import TrackingSubscriber

/// Shows what a subscriber tells, until there is a reason to end.
struct Watcher: Sendable {
    let format: WatchFormat
    let request: Resolution?
    let count: Int?
    let timeout: Double?
    let printsSkipped: Bool
    let failsFast: Bool
    /// The ids to watch; none where everything is.
    let named: Set<String>

    /// Runs until the count or the time is reached, a key or a signal ends it, or the broker refuses.
    func run(
        _ subscriber: AssetSubscriber<MQTTTransport>, _ events: AsyncStream<SubscriberEvent>
    ) async throws {
        let ending = Ending()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await self.show(subscriber, events, ending)
                subscriber.finish()
            }
            if let timeout = self.timeout {
                group.addTask {
                    guard (try? await Task.sleep(for: .seconds(timeout))) != nil else { return }
                    ending.note(self.count == nil ? nil : ExitCode(1))
                    subscriber.finish()
                }
            }
            do { try await Program.run(subscriber) } catch { ending.note(error) }
            group.cancelAll()
        }
        if let error = ending.error { throw error }
    }

    private func show(
        _ subscriber: AssetSubscriber<MQTTTransport>, _ events: AsyncStream<SubscriberEvent>, _ ending: Ending
    ) async {
        if self.format == .text, Terminal.isOutput {
            await self.showTable(subscriber, events, ending)
        } else {
            await self.printEvents(events, ending)
        }
    }

    private func printEvents(_ events: AsyncStream<SubscriberEvent>, _ ending: Ending) async {
        let printer = WatchPrinter(format: self.format, printsSkipped: self.printsSkipped)
        if let header = printer.header { Terminal.write(header) }
        var left = self.count ?? .max
        var refused: Set<String> = []
        for await event in events {
            guard !self.isOver(event, ending, &refused) else { return }
            if let text = printer.text(event, receivedAt: TimeText.now) { Terminal.write(text) }
            if case .location = event { left -= 1 }
            if left == 0 { return }
        }
    }

    private func showTable(
        _ subscriber: AssetSubscriber<MQTTTransport>, _ events: AsyncStream<SubscriberEvent>, _ ending: Ending
    ) async {
        let view = LiveView(table: LiveTable(hasColour: Terminal.hasColour), request: self.request)
        let terminal = Terminal()
        defer { terminal.restore() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var left = self.count ?? .max
                var refused: Set<String> = []
                for await event in events {
                    guard !self.isOver(event, ending, &refused) else { return }
                    // It showed up by itself: what the keys asked for meanwhile is asked of it too.
                    if let id = view.happened(event) { subscriber.request(view.request, for: id) }
                    if case .location = event { left -= 1 }
                    if left == 0 { return }
                }
            }
            group.addTask {
                while !Task.isCancelled {
                    terminal.draw(
                        view.lines(size: Terminal.size, now: TimeText.now) { subscriber.untilNextExpected($0) })
                    for key in terminal.keys {
                        guard let change = view.pressed(key) else { continue }
                        if change == .quit { return }
                        for id in view.trackables { subscriber.request(view.request, for: id) }
                    }
                    try? await Task.sleep(for: .milliseconds(200))
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// Whether this ends the watching: refused for good, or not reached where that is asked to end.
    private func isOver(_ event: SubscriberEvent, _ ending: Ending, _ refused: inout Set<String>) -> Bool {
        if case .refused(let id, let error) = event {
            if let id { refused.insert(id.rawValue) }
            guard refused == self.named else { return false }
            ending.note(error)
            return true
        }
        guard case .connection(let lost?) = event, lost.lasted == nil, let reason = lost.reason,
            reason.isRefusal || self.failsFast
        else { return false }
        ending.note(reason)
        return true
    }
}
