import TrackingCore

/// Decides which calls to send to GeoClue over one connection to the system bus, and interprets its answers. It uses no
/// socket and no clock.
///
/// The order is that of the [GeoClue documentation](https://www.freedesktop.org/software/geoclue/docs/): get a client,
/// set its properties, start it. Each signal `LocationUpdated` then names an object whose properties are the position.
struct GeoClueStateMachine: Sendable {
    /// An instruction to the caller: send bytes, deliver an event, or close the connection.
    enum Action: Hashable, Sendable {
        case send([UInt8])
        case deliver(SourceEvent)
        /// Close the connection, because it cannot be used any more, and end the source with this error.
        case fail(TrackingError)
    }

    /// The name of GeoClue on the bus.
    static let service = "org.freedesktop.GeoClue2"
    /// The name by which GeoClue's configuration and its agents know this program.
    static let desktopID = "godwit-agent"
    /// The class of accuracy that GeoClue is asked for: that of a street. For the next finer class, GeoClue would use
    /// satellite receivers.
    static let accuracyLevel: UInt32 = 6
    /// The longest time for an answer. GeoClue may have to be started, or to ask the user.
    static let answerLimit: Duration = .seconds(60)
    /// The longest time from the start of the client to the first position.
    static let patience: Duration = .seconds(60)
    /// The longest time between two positions, or twice the threshold of time if that is longer. After it, GeoClue
    /// counts as broken, because a device that moves without a position must use another source.
    static let silence: Duration = .seconds(1_800)
    /// The maximum number of positions whose properties are requested at the same time. Further ones are ignored.
    private static let maximumReads = 16

    /// A call whose answer is awaited.
    private enum Request: Hashable, Sendable {
        case hello
        case watch
        case client
        /// A property without which the client cannot start.
        case property
        /// The setting of a property that old releases of GeoClue do not have. An error is no failure.
        case optionalProperty
        case start
        case position
    }

    private struct Pending: Hashable, Sendable {
        let request: Request
        let deadline: MonotonicTime
    }

    /// The client object at GeoClue that belongs to this program.
    private struct Client: Hashable, Sendable {
        let path: String
        /// The unique name of GeoClue's connection.
        let owner: String?
    }

    private let name: String
    private var connection = DBusConnection()
    /// The time at which the bus counts as broken if it does not accept the login until then; `nil` before the
    /// connection was made, and after the login.
    private var loginDeadline: MonotonicTime?
    private var pending: [UInt32: Pending] = [:]
    private var client: Client?
    private var resolution: Resolution?
    /// The threshold of time that GeoClue was asked for, in seconds; `nil` before the first request.
    private var threshold: UInt32?
    /// The time at which GeoClue started the client; `nil` before.
    private var started: MonotonicTime?
    /// The arrival of the last position; `nil` before the first one.
    private var lastPosition: MonotonicTime?

    /// Creates the state machine of one connection.
    ///
    /// - Parameters:
    ///   - name: The name of the source in error messages.
    ///   - resolution: The resolution that the trackables need; `nil` if it is not known yet.
    init(name: String, resolution: Resolution?) {
        self.name = name
        self.resolution = resolution
    }

    /// The time at which the caller must call ``timerFired(now:)`` next; `nil` for no such time.
    var deadline: MonotonicTime? {
        let answer = MonotonicTime.earlier(self.loginDeadline, self.pending.values.map(\.deadline).min())
        return .earlier(answer, self.positionDeadline)
    }

    /// The time at which GeoClue counts as broken if there is no position until then; `nil` before the client started.
    private var positionDeadline: MonotonicTime? {
        guard let lastPosition else { return self.started?.advanced(by: Self.patience) }
        return lastPosition.advanced(by: max(Self.silence, .seconds(self.threshold ?? 0) * 2))
    }

    /// Returns the first bytes to send, after the connection was made.
    mutating func connected(now: MonotonicTime) -> [Action] {
        self.loginDeadline = now.advanced(by: Self.answerLimit)
        return [.send(DBusConnection.login)]
    }

    /// Handles bytes from the bus.
    mutating func received(
        _ bytes: ArraySlice<UInt8>, now: MonotonicTime, clock: UnixTime
    ) -> [Action] {
        var actions: [Action] = []
        for event in self.connection.received(bytes) {
            switch event {
            case .accepted(let bytes):
                self.loginDeadline = nil
                actions += [.send(bytes), self.call(.hello, Self.bus("Hello"), now)]
            case .received(let message): actions += self.received(message, now: now, clock: clock)
            case .failed(let error): actions.append(self.failure(error.message))
            }
        }
        return actions
    }

    /// Stores the resolution that the trackables need. Returns the call that asks GeoClue for its interval.
    mutating func resolutionChanged(to resolution: Resolution, now: MonotonicTime) -> [Action] {
        self.resolution = resolution
        guard let client, self.threshold != nil else { return [] }
        return self.setThreshold(client, now)
    }

    /// Handles that ``deadline`` has passed. Returns an error if GeoClue does not answer, or has no position.
    mutating func timerFired(now: MonotonicTime) -> [Action] {
        if let deadline = self.loginDeadline, deadline <= now { return [self.failure(Self.silentBus)] }
        if let late = self.pending.values.first(where: { $0.deadline <= now }) {
            switch late.request {
            case .hello, .watch: return [self.failure(Self.silentBus)]
            case .client, .start:
                return [
                    self.failure(
                        "GeoClue does not answer. It may wait for an agent of this user: run /usr/libexec/geoclue-2.0/demos/agent as the same user"
                    )
                ]
            case .property, .optionalProperty, .position: return [self.failure("GeoClue does not answer. Restart it")]
            }
        }
        guard let deadline = self.positionDeadline, deadline <= now else { return [] }
        return [
            self.failure(
                "GeoClue knows no position. Check the network, and the location service (url) in /etc/geoclue/geoclue.conf"
            )
        ]
    }

    // MARK: - Messages

    private mutating func received(_ message: DBusMessage, now: MonotonicTime, clock: UnixTime) -> [Action] {
        switch message.kind {
        case .call: return []
        case .signal: return self.receivedSignal(message, now)
        case .answer, .error:
            guard let serial = message.answers, let request = self.pending.removeValue(forKey: serial)?.request else {
                return []
            }
            return message.kind == .error
                ? self.refused(request, message) : self.answered(request, message, now: now, clock: clock)
        }
    }

    private mutating func receivedSignal(_ message: DBusMessage, _ now: MonotonicTime) -> [Action] {
        switch (message.interface, message.member) {
        case ("org.freedesktop.DBus", "NameOwnerChanged") where message.sender == "org.freedesktop.DBus":
            // The name, the old owner and the new one, which is empty if there is none.
            let texts = message.body.map(\.text)
            guard texts.count == 3, texts[0] == Self.service, texts[1] != "", texts[1] == self.client?.owner else {
                return []
            }
            return [self.failure("GeoClue ended. The program starts it again")]
        case ("org.freedesktop.GeoClue2.Client", "LocationUpdated"):
            // A signal of another program is ignored.
            guard let client, message.sender == client.owner, message.path == client.path, message.body.count == 2,
                let path = message.body[1].text,
                self.pending.values.count(where: { $0.request == .position }) < Self.maximumReads
            else { return [] }
            let call = DBusCall(
                service: Self.service, path: path, interface: Self.properties, method: "GetAll",
                arguments: [.text("\(Self.service).Location")])
            return [self.call(.position, call, now)]
        default: return []
        }
    }

    private mutating func answered(
        _ request: Request, _ message: DBusMessage, now: MonotonicTime, clock: UnixTime
    ) -> [Action] {
        switch request {
        case .hello:
            let rule =
                "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.service)'"
            let call = DBusCall(
                service: Self.service, path: "/org/freedesktop/GeoClue2/Manager",
                interface: "\(Self.service).Manager", method: "GetClient")
            return [self.call(.watch, Self.bus("AddMatch", [.text(rule)]), now), self.call(.client, call, now)]
        case .client:
            guard let path = message.body.first?.text else {
                return [self.failure("GeoClue gave no client. Install GeoClue 2.4 or later")]
            }
            return self.start(Client(path: path, owner: message.sender), now)
        case .start:
            self.started = now
            return []
        case .position:
            do throws(TrackingError) {
                let fix = try GeoCluePosition.fix(message.body.first ?? .members([]), clock: clock)
                self.lastPosition = now
                return [.deliver(.fix(fix))]
            } catch {
                return [.deliver(.badInput(error.message))]
            }
        case .watch, .property, .optionalProperty: return []
        }
    }

    private mutating func start(_ client: Client, _ now: MonotonicTime) -> [Action] {
        self.client = client
        let properties = [
            self.set("DesktopId", .textVariant(Self.desktopID), client),
            self.set("RequestedAccuracyLevel", .numberVariant(Self.accuracyLevel), client),
        ]
        let start = DBusCall(
            service: Self.service, path: client.path, interface: Self.clientInterface, method: "Start")
        return properties.map { self.call(.property, $0, now) } + self.setThreshold(client, now)
            + [self.call(.start, start, now)]
    }

    /// Asks GeoClue for the interval of the resolution, in whole seconds.
    private mutating func setThreshold(_ client: Client, _ now: MonotonicTime) -> [Action] {
        let interval = self.resolution?.desiredInterval ?? .zero
        let seconds = UInt32(max(0, min(interval.components.seconds, 86_400)))
        guard seconds != self.threshold else { return [] }
        self.threshold = seconds
        return [self.call(.optionalProperty, self.set("TimeThreshold", .numberVariant(seconds), client), now)]
    }

    /// Handles an error with which GeoClue or the bus answered a call.
    private func refused(_ request: Request, _ message: DBusMessage) -> [Action] {
        let name = message.errorName ?? "unknown"
        let text = String((message.body.first?.text ?? name).prefix(200))
        if request == .optionalProperty { return [] }
        // GeoClue removes the object of an old position after a while.
        if request == .position { return [.deliver(.badInput("GeoClue removed a position: \(text)"))] }
        switch name {
        case "org.freedesktop.DBus.Error.AccessDenied":
            return [
                self.failure(
                    "GeoClue does not permit it: \(text). In /etc/geoclue/geoclue.conf, add the section [\(Self.desktopID)] with the lines allowed=true, system=true and users="
                )
            ]
        case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
            return [self.failure("GeoClue is not installed: \(text). Install it (Debian: geoclue-2.0)")]
        case _ where name.hasPrefix("org.freedesktop.DBus.Error.Spawn."):
            return [self.failure("GeoClue cannot be started: \(text). Check the service geoclue")]
        default: return [self.failure("GeoClue answered with the error \(name): \(text). Check the service geoclue")]
        }
    }

    // MARK: - Calls

    private static let properties = "org.freedesktop.DBus.Properties"
    private static let clientInterface = "\(Self.service).Client"

    private static func bus(_ method: String, _ arguments: [DBusArgument] = []) -> DBusCall {
        DBusCall(
            service: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
            method: method, arguments: arguments)
    }

    private func set(_ property: String, _ value: DBusArgument, _ client: Client) -> DBusCall {
        DBusCall(
            service: Self.service, path: client.path, interface: Self.properties, method: "Set",
            arguments: [.text(Self.clientInterface), .text(property), value])
    }

    private mutating func call(_ request: Request, _ call: DBusCall, _ now: MonotonicTime) -> Action {
        let (serial, bytes) = self.connection.call(call)
        self.pending[serial] = Pending(request: request, deadline: now.advanced(by: Self.answerLimit))
        return .send(bytes)
    }

    /// The reason of the failure when the bus does not answer in time.
    private static let silentBus = "the system bus does not answer. Restart D-Bus"

    private func failure(_ reason: String) -> Action {
        .fail(TrackingError(.inputUnreadable, "no positions from \(self.name): \(reason)"))
    }
}
