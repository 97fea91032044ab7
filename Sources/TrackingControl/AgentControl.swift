public import TrackingCore

/// What can be asked of a running agent, by whoever has the device in hand and, as far as it is allowed, by an operator.
///
/// The one seam between the controls and what they control. Each method returns when it is done; what it cannot do is
/// thrown, and nothing has changed then.
public protocol AgentControl: Sendable {
    /// How things stand.
    func status() async -> AgentStatus

    /// Returns once what decides in the agent has answered, whatever its log does meanwhile: it is alive. Before the log is open
    /// nothing decides, and it returns at once.
    ///
    /// - Returns: What keeps it from deciding, to read; `nil` where nothing does.
    func respond() async -> String?

    /// Switches on or off. Off samples nothing, sends nothing and withdraws the presence; the log is kept. It lasts over a
    /// restart.
    func setOn(_ isOn: Bool) async throws(CommandFailure)

    /// Sends one batch now, or joins the one that is on its way.
    ///
    /// - Returns: How many records it has.
    func sendNow() async throws(CommandFailure) -> Int

    /// Sends everything that waits.
    ///
    /// - Parameter progress: Told after each batch, and at least every 10 s.
    /// - Returns: How many records were sent.
    func flush(_ progress: ControlProgress) async throws(CommandFailure) -> Int

    /// Begins a trip; `tripUnderWay` where one has begun.
    ///
    /// - Parameters:
    ///   - mode: How one travels, 1 to 64 bytes; `nil` leaves it to the agent.
    ///   - trackable: Whose trip; `nil` means the only one that is carried, and `invalidArguments` where there are several.
    func startTrip(mode: String?, of trackable: TrackableID?) async throws(CommandFailure) -> Trip

    /// Ends the trip under way; `noTrip` where there is none. `trackable` as for ``startTrip(mode:of:)``.
    func stopTrip(of trackable: TrackableID?) async throws(CommandFailure) -> Trip

    /// The records that wait, oldest first.
    ///
    /// - Parameter limit: How many at the most, 1 to 200.
    func queue(limit: Int) async throws(CommandFailure) -> [SpoolEntry]

    /// Hands over every record that waits, oldest first, one after the other; ends early where `each` throws.
    func exportQueue(_ each: (SpoolEntry) async throws -> Void) async throws

    /// Forgets every record that waits.
    ///
    /// - Returns: How many there were.
    func purgeQueue() async throws(CommandFailure) -> Int

    /// The records that were refused for good, oldest first.
    ///
    /// - Parameter limit: How many at the most, 1 to 200.
    func quarantine(limit: Int) async throws(CommandFailure) -> [QuarantinedRecord]

    /// Puts records back in line, or all where `names` is `nil`.
    ///
    /// - Returns: How many there were.
    func retryQuarantined(_ names: [RecordName]?) async throws(CommandFailure) -> Int

    /// Forgets records, or all where `names` is `nil`.
    ///
    /// - Returns: How many there were.
    func dropQuarantined(_ names: [RecordName]?) async throws(CommandFailure) -> Int

    /// Changes settings while the agent runs; all or none of them.
    ///
    /// - Parameters:
    ///   - settings: Values by the long names of the options, as they would be written on the command line.
    ///   - isFromAfar: Whether this came through the broker. Nothing may be set from there that names a program, a file or a
    ///     broker, that is a secret, or that says who may command: `notAllowed`.
    /// - Returns: What changed; a secret is told without values.
    func configure(_ settings: [String: String], isFromAfar: Bool) async throws(CommandFailure) -> [SettingChange]

    /// Carries this trackable alone (`isOnly`), or this one too. It lasts over a restart. One that is carried already gets the
    /// destination, where one is given.
    func track(_ id: TrackableID, destination: Coordinate?, isOnly: Bool) async throws(CommandFailure)

    /// Carries this trackable no longer. It lasts over a restart.
    func remove(_ id: TrackableID) async throws(CommandFailure)

    /// Sets where a trackable goes, or that it goes nowhere (`nil`). It lasts over a restart.
    func setDestination(_ destination: Coordinate?, of id: TrackableID) async throws(CommandFailure)

    /// Takes a fix now and tells it on the live lane, whatever the resolution in force.
    func report() async throws(CommandFailure)

    /// Carries `id` in place of what was carried. Throws `unsentPoints`, with how many, where some of the old are not sent
    /// and `unsent` is `refuse`.
    func bind(
        _ id: TrackableID, unsent: UnsentPoints, _ progress: ControlProgress
    ) async throws(CommandFailure)

    /// Takes over what a set-up link says.
    ///
    /// - Parameter isTrial: Whether to tell only what would change.
    /// - Returns: What changed or would change; the token is told as a change of the key `password` without values.
    func setUp(_ request: SetupRequest, isTrial: Bool) async throws(CommandFailure) -> [SettingChange]
}

/// Is told how many of how many records are sent.
public typealias ControlProgress = @Sendable (_ done: Int, _ total: Int) async -> Void

/// One setting that changed or would change.
public struct SettingChange: Hashable, Sendable {
    /// The long name of the option.
    public var key: String
    /// What it was; `nil` where it was not set, or is not to be told.
    public var before: String?
    /// What it is now; `nil` where it is not to be told.
    public var after: String?

    /// Makes one.
    public init(key: String, before: String?, after: String?) {
        self.key = key
        self.before = before
        self.after = after
    }
}
