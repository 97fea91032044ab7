import TrackingCore

/// A command to the agent with its checked arguments: one case for each command.
enum ControlRequest: Hashable, Sendable {
    case status
    case metrics
    case setOn(Bool)
    case report
    case sendNow
    case flush
    case startTrip(mode: String?, TrackableID?)
    case stopTrip(TrackableID?)
    case configure([String: String], isFromAfar: Bool)
    /// The command to track a trackable instead of all others. `check` tests if the command may replace the tracked
    /// trackables. For a command from the local socket, which may replace any of them, `check` is `nil`.
    case track(TrackableID, destination: Coordinate?, check: ReplacementCheck?)
    case add(TrackableID, destination: Coordinate?)
    case remove(TrackableID)
    case setDestination(Coordinate?, of: TrackableID)
    case queueList(limit: Int)
    case queueExport
    case queuePurge
    case quarantineList(limit: Int)
    case quarantineRetry([RecordName]?)
    case quarantineDrop([RecordName]?)
    case bind(TrackableID, unsent: UnsentPoints)
    case setUp(SetupRequest, isTrial: Bool)

    /// Converts a command to a request, and checks its arguments.
    ///
    /// - Returns: `nil` for an unknown command.
    /// - Throws: `invalidArguments` for an argument that breaks a rule; `notAllowed` if a command from the broker names
    ///   a trackable that it may not change.
    init?(_ command: Command, _ origin: ControlDispatcher.Origin) throws(CommandFailure) {
        let arguments = CommandArguments(command.arguments, origin: origin)
        switch command.name {
        case .status: self = .status
        case .metrics: self = .metrics
        case .on: self = .setOn(true)
        case .off: self = .setOn(false)
        case .report: self = .report
        case .sendNow: self = .sendNow
        case .flush: self = .flush
        case .startTrip: self = .startTrip(mode: try arguments.tripMode(), try arguments.commandedOrNone())
        case .stopTrip: self = .stopTrip(try arguments.commandedOrNone())
        case .configure: self = .configure(try arguments.settings(), isFromAfar: arguments.isFromAfar)
        case .track:
            self = .track(
                try arguments.trackable(), destination: try arguments.destination(),
                check: ReplacementCheck(origin: origin))
        case .add: self = .add(try arguments.trackable(), destination: try arguments.destination())
        case .remove: self = .remove(try arguments.commanded())
        case .destination: self = .setDestination(try arguments.destination(), of: try arguments.commanded())
        case .queueList: self = .queueList(limit: try arguments.limit())
        case .queueExport: self = .queueExport
        case .queuePurge: self = .queuePurge
        case .quarantineList: self = .quarantineList(limit: try arguments.limit())
        case .quarantineRetry: self = .quarantineRetry(try arguments.records())
        case .quarantineDrop: self = .quarantineDrop(try arguments.records())
        case .bind: self = .bind(try arguments.trackable(), unsent: try arguments.unsent())
        case .setUp: self = .setUp(try arguments.setup(), isTrial: try arguments.flag("trial"))
        default: return nil
        }
    }
}

/// Checks a TRACK command from the broker, which tracks one trackable in place of all tracked ones. Such a command may
/// end the tracking of the trackable on whose topic it arrived, but of no other one.
struct ReplacementCheck: Hashable, Sendable {
    private let own: TrackableID

    /// Makes the check for a TRACK command from the broker; returns `nil` for a command from the local socket, which
    /// needs no check.
    init?(origin: ControlDispatcher.Origin) {
        guard case .topic(let own) = origin else { return nil }
        self.own = own
    }

    /// Checks that a TRACK command from the broker may replace all tracked trackables by `next`. Only the trackable of
    /// the command's topic and `next` itself may be among the tracked ones.
    ///
    /// - Throws: `notAllowed` when the device tracks any other trackable.
    func check(_ tracked: [TrackableID], for next: TrackableID) throws(CommandFailure) {
        guard tracked.contains(where: { $0 != self.own && $0 != next }) else { return }
        throw CommandArguments.notOwn("another trackable of the device", self.own)
    }
}
