import TrackingCore

/// Decides which commands to send to gpsd on one connection, and interprets its reports. It uses no socket and no
/// clock.
struct GPSDSessionStateMachine: Sendable {
    /// An instruction that the state machine of a connection to gpsd gives to its caller: send a line, deliver an
    /// event, or close the connection.
    enum Action: Hashable, Sendable {
        /// Send this line to gpsd. The line includes its line end.
        case send(String)
        case deliver(SourceEvent)
        /// Close the connection to gpsd, because it cannot be used any more, and end the source with this error.
        case fail(TrackingError)
    }

    /// The longest time for which gpsd may have no receiver before the source counts as broken: 10 s. A shorter time
    /// without a receiver is normal: gpsd closes a receiver that it does not recognize, and opens it again within some
    /// seconds while a client is connected.
    static let patience: Duration = .seconds(10)
    /// The longest time without a line from gpsd before gpsd is asked for its version. A receiver may be silent, and
    /// gpsd is then silent too.
    static let silence: Duration = .seconds(30)
    /// The longest time that gpsd may take to answer the question for its version.
    static let answerLimit: Duration = .seconds(10)

    private let name: String
    /// `true` when gpsd may be asked to change the cycle of its receivers.
    private let asksForCycle: Bool
    private var resolution: Resolution?
    private var receivers: [String: Receiver] = [:]
    /// The deadline for a receiver to appear at gpsd; `nil` while gpsd has a receiver, and before the connection to
    /// gpsd is made.
    private var receiverDeadline: MonotonicTime?
    /// The path of the receiver that gpsd closed last, for the error message.
    private var lostReceiver: String?
    /// The time at which a silent gpsd is asked for its version or, after the question, is given up.
    private var silenceDeadline: MonotonicTime?
    private var isAsked = false

    /// The time at which the caller must call ``timerFired(now:)`` next: gpsd then has had no receiver, or has been
    /// silent, for too long. `nil` for no such time.
    var deadline: MonotonicTime? { .earlier(self.receiverDeadline, self.silenceDeadline) }

    private struct Receiver: Sendable {
        var shortestCycle: Double?
        var asked: Duration?
        var driver: String?
    }

    /// Makes the state machine for one connection of the source with this name to gpsd.
    init(name: String, asksForCycle: Bool, resolution: Resolution?) {
        self.name = name
        self.asksForCycle = asksForCycle
        self.resolution = resolution
    }

    /// Handles that the connection to gpsd is established. Returns the command that enables gpsd's reports.
    mutating func connected(now: MonotonicTime) -> [Action] {
        self.receiverDeadline = now.advanced(by: Self.patience)
        self.silenceDeadline = now.advanced(by: Self.silence)
        return [.send("?WATCH={\"enable\":true,\"json\":true};\n")]
    }

    /// Handles a line from gpsd. Returns the fixes, errors and commands that result.
    mutating func received(_ line: LineSplitter.Line, now: MonotonicTime) -> [Action] {
        self.isAsked = false
        self.silenceDeadline = now.advanced(by: Self.silence)
        switch line {
        case .tooLong(let number):
            return [.deliver(.badInput("line \(number) of gpsd is longer than \(LineSplitter.limit) bytes"))]
        case .text(let text, let number):
            if text.isEmpty { return [] }
            do throws(TrackingError) {
                return self.received(try GPSDReport(line: text), now: now)
            } catch {
                return [.deliver(.badInput("line \(number) of gpsd: \(error.message)"))]
            }
        }
    }

    /// Stores the resolution that the trackables need. Returns the commands that adapt the receivers' cycles to it.
    mutating func resolutionChanged(to resolution: Resolution) -> [Action] {
        self.resolution = resolution
        return self.askForCycles()
    }

    /// Handles that ``deadline`` has passed.
    ///
    /// Returns an error if no receiver appeared or gpsd did not answer. After a silence, it returns the command that
    /// asks for gpsd's version.
    mutating func timerFired(now: MonotonicTime) -> [Action] {
        if let deadline = self.receiverDeadline, now >= deadline {
            let state = self.lostReceiver.map { "gpsd lost its receiver \($0)" } ?? "gpsd has no receiver"
            let reason = "no fixes from \(self.name): \(state). Check the receiver and its cable"
            return [.fail(TrackingError(.inputUnreadable, reason))]
        }
        guard let deadline = self.silenceDeadline, now >= deadline else { return [] }
        guard !self.isAsked else {
            let reason = "no fixes from \(self.name): gpsd no longer answers. Restart gpsd"
            return [.fail(TrackingError(.inputUnreadable, reason))]
        }
        self.isAsked = true
        self.silenceDeadline = now.advanced(by: Self.answerLimit)
        return [.send("?VERSION;\n")]
    }

    private mutating func received(_ report: GPSDReport, now: MonotonicTime) -> [Action] {
        switch report {
        case .version(let release, let major) where major != 3:
            return [
                .fail(
                    TrackingError(
                        .inputUnreadable,
                        "cannot use \(self.name): gpsd \(release) uses protocol \(major), and this program needs protocol 3. Install another release of gpsd"
                    ))
            ]
        case .devices(let devices):
            for device in devices { self.changed(device, now: now) }
            return self.askForCycles()
        case .device(let device):
            self.changed(device, now: now)
            return self.askForCycles()
        case .fix(var location, _):
            self.receiverDeadline = nil
            location.source = .gps
            return [.deliver(.fix(location))]
        case .error(let message) where self.isUnknownType(message):
            return []  // the cycle is requested again once gpsd has recognized the receiver
        case .error(let message):
            return [.deliver(.badInput("gpsd reported the error: \(message.prefix(200))"))]
        case .version, .noFix, .other:
            return []
        }
    }

    private mutating func changed(_ device: GPSDReport.Device, now: MonotonicTime) {
        if device.isActive {
            var receiver = self.receivers[device.path] ?? Receiver()
            receiver.shortestCycle = device.shortestCycle
            if let driver = device.driver, driver != receiver.driver {
                // gpsd did not forward the request for a cycle while it had not recognized the receiver.
                (receiver.driver, receiver.asked) = (driver, nil)
            }
            self.receivers[device.path] = receiver
            self.receiverDeadline = nil
        } else {
            if self.receivers.removeValue(forKey: device.path) != nil { self.lostReceiver = device.path }
            guard self.receivers.isEmpty, self.receiverDeadline == nil else { return }
            self.receiverDeadline = now.advanced(by: Self.patience)
        }
    }

    /// Returns `true` if an error message of gpsd says that gpsd refused a cycle because it has not recognized the
    /// receiver yet.
    private func isUnknownType(_ message: String) -> Bool {
        message.hasSuffix(" is unknown.") && self.receivers.keys.contains { message.contains("Type of \($0) ") }
    }

    /// Returns commands that set the cycle of each receiver, the time between two fixes, to the wanted interval.
    ///
    /// A receiver is asked only once for the same cycle, and again after gpsd has recognized another driver for it.
    private mutating func askForCycles() -> [Action] {
        guard self.asksForCycle, let resolution = self.resolution else { return [] }
        var actions: [Action] = []
        for (path, receiver) in self.receivers.sorted(by: { $0.key < $1.key }) {
            let shortest = receiver.shortestCycle.map { Duration.seconds(max(0, min($0, 60))) }
            let cycle = ReceiverCycle.matching(resolution, shortest: shortest ?? ReceiverCycle.shortest)
            guard receiver.asked != cycle, let quoted = Self.quoted(path) else { continue }
            self.receivers[path]?.asked = cycle
            let seconds = "\(cycle.inMilliseconds / 1000).\(String(1000 + cycle.inMilliseconds % 1000).dropFirst())"
            actions.append(.send("?DEVICE={\"path\":\(quoted),\"cycle\":\(seconds)};\n"))
        }
        return actions
    }

    /// Returns the path of a receiver as a JSON string; `nil` for a path with characters that would need escaping.
    private static func quoted(_ path: String) -> String? {
        path.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C } ? "\"\(path)\"" : nil
    }
}
