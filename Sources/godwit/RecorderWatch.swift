import ArgumentParser
import GodwitOptions
import Synchronization
import TrackingCore
import TrackingMQTT
import TrackingRecorder

/// Reports the state of the program's recorder to the service manager and to the health checks.
final class RecorderWatch: Sendable {
    let health: RecorderHealth
    let notifier: ServiceNotifier?
    /// The outcome of the program, which gets the error that ends the recorder with `--fail-fast`.
    let ending: Ending
    private let failsFast: Bool
    private let greeting: Mutex<String?>

    /// Creates a watch for the recorders that the program runs one after the other.
    ///
    /// - Parameters:
    ///   - failsFast: `true` to end the recorder when the broker cannot be reached or does not deliver the messages of
    ///     the recorder's group.
    ///   - greeting: The text that is printed once a recorder receives messages from the broker.
    init(health: RecorderHealth, notifier: ServiceNotifier?, failsFast: Bool, greeting: String, ending: Ending) {
        self.health = health
        self.notifier = notifier
        self.failsFast = failsFast
        self.greeting = Mutex(greeting)
        self.ending = ending
    }

    /// Reports the events of a recorder until the recorder ends.
    func run(_ recorder: Recorder<MQTTTransport>, _ events: AsyncStream<RecorderEvent>) async {
        for await event in events { self.report(event, of: recorder) }
    }

    /// Reports one event of a recorder.
    func report(_ event: RecorderEvent, of recorder: Recorder<MQTTTransport>) {
        self.health.happened(event)
        switch event {
        case .connected:
            self.greeting.withLock { $0.take() }.map { Program.note($0) }
            self.notifier?.status("recording")
        case .storeAway(let error, _): self.notifier?.status("the history cannot be used: \(error.message)")
        case .storeBack: self.notifier?.status("recording")
        case .disconnected(let lost), .voice(.some(let lost)):
            guard lost.retry != nil, !lost.isRenewal else { return }
            self.notifier?.status("not connected to the broker: \(lost.reason?.message ?? "")")
            guard self.failsFast, let reason = lost.failure else { return }
            self.ending.note(reason)
            recorder.finish()
        case .shareUndelivered:
            guard self.failsFast else { return }
            self.ending.note(ExitCode.brokerUnreachable)
            recorder.finish()
        case .possibleGap, .voice(nil), .subscriptionRefused, .acknowledgementRefused, .brokerDropped,
            .shareDelivered, .storeRefuses, .cleared, .clearingRefused, .failed:
            break
        }
    }
}
