public import TrackingCore

/// The operations that a running agent offers to the user of the device and, where allowed, to a remote operator.
///
/// The protocol separates the control interfaces from the agent. Each method returns when its work is done. A method
/// that throws has changed nothing.
public protocol AgentControl: Sendable {
    /// Returns the state of the agent.
    func status() async -> AgentStatus

    /// Waits until the agent's decisions respond, whatever the log does meanwhile; a response shows that the agent
    /// works. Returns at once before the log is open, because nothing decides then.
    ///
    /// - Returns: The reason for which the agent cannot decide, for a human; `nil` where there is none.
    func respond() async -> String?

    /// Switches tracking on or off. While it is off, the agent samples and sends nothing and withdraws its presence;
    /// the log remains. The setting survives a restart.
    func setOn(_ isOn: Bool) async throws(CommandFailure)

    /// Sends one batch now, or waits for the batch that is being sent.
    ///
    /// - Returns: The number of records in the batch.
    func sendNow() async throws(CommandFailure) -> Int

    /// Sends all pending records.
    ///
    /// - Parameter progress: Called after each batch, and at least every 10 s.
    /// - Returns: The number of records sent.
    func flush(_ progress: ControlProgress) async throws(CommandFailure) -> Int

    /// Begins a trip. Throws `tripUnderWay` if a trip has begun.
    ///
    /// - Parameters:
    ///   - mode: The mode of travel, 1 to 64 bytes; `nil` lets the agent choose.
    ///   - trackable: The trackable of the trip; `nil` for the only tracked one. With several tracked ones, `nil`
    ///     throws `invalidArguments`.
    func startTrip(mode: String?, of trackable: TrackableID?) async throws(CommandFailure) -> Trip

    /// Ends the current trip. Throws `noTrip` if there is none. The parameter `trackable` is that of
    /// ``startTrip(mode:of:)``.
    func stopTrip(of trackable: TrackableID?) async throws(CommandFailure) -> Trip

    /// Returns pending records, oldest first.
    ///
    /// - Parameter limit: The largest number of records, 1 to 200.
    func queue(limit: Int) async throws(CommandFailure) -> [SpoolEntry]

    /// Passes every pending record to `each`, oldest first, one at a time. Ends early when `each` throws.
    func exportQueue(_ each: (SpoolEntry) async throws -> Void) async throws

    /// Deletes all pending records.
    ///
    /// - Returns: The number of deleted records.
    func purgeQueue() async throws(CommandFailure) -> Int

    /// Returns quarantined records, oldest first.
    ///
    /// - Parameter limit: The largest number of records, 1 to 200.
    func quarantine(limit: Int) async throws(CommandFailure) -> [QuarantinedRecord]

    /// Makes quarantined records pending again; all of them if `names` is `nil`.
    ///
    /// - Returns: The number of records.
    func retryQuarantined(_ names: [RecordName]?) async throws(CommandFailure) -> Int

    /// Deletes quarantined records; all of them if `names` is `nil`.
    ///
    /// - Returns: The number of deleted records.
    func dropQuarantined(_ names: [RecordName]?) async throws(CommandFailure) -> Int

    /// Changes settings while the agent runs: all of them, or none if one is invalid.
    ///
    /// - Parameters:
    ///   - settings: Values by the long names of the options, in the form of the command line.
    ///   - isFromAfar: `true` for a command from the broker. Such a command may not set secrets, the rights to command,
    ///     or names of programs, files and brokers: `notAllowed`.
    /// - Returns: The changes; a secret appears without values.
    func configure(_ settings: [String: String], isFromAfar: Bool) async throws(CommandFailure) -> [SettingChange]

    /// Tracks this trackable alone (`isOnly`), or in addition to the others. The setting survives a restart. A
    /// trackable that is already tracked gets the destination, if there is one.
    func track(_ id: TrackableID, destination: Coordinate?, isOnly: Bool) async throws(CommandFailure)

    /// Stops tracking this trackable. The setting survives a restart.
    func remove(_ id: TrackableID) async throws(CommandFailure)

    /// Sets the destination of a trackable; `nil` removes it. The setting survives a restart.
    func setDestination(_ destination: Coordinate?, of id: TrackableID) async throws(CommandFailure)

    /// Takes a fix now and publishes it on the live lane, whatever the resolution in force.
    func report() async throws(CommandFailure)

    /// Tracks `id` in place of the tracked trackables. Throws `unsentPoints` with their number if earlier trackables
    /// have unsent points and `unsent` is `refuse`.
    func bind(
        _ id: TrackableID, unsent: UnsentPoints, _ progress: ControlProgress
    ) async throws(CommandFailure)

    /// Applies the values of a set-up link.
    ///
    /// - Parameter isTrial: `true` only returns the changes and does not apply them.
    /// - Returns: The changes; the token appears as a change of the key `password` without values.
    func setUp(_ request: SetupRequest, isTrial: Bool) async throws(CommandFailure) -> [SettingChange]
}

/// Receives the number of records sent and the number of records to send.
public typealias ControlProgress = @Sendable (_ done: Int, _ total: Int) async -> Void

/// One setting that changed or would change.
public struct SettingChange: Hashable, Sendable {
    /// The long name of the option.
    public var key: String
    /// The former value; `nil` if the setting had none or is secret.
    public var before: String?
    /// The new value; `nil` if the setting is secret.
    public var after: String?

    /// Creates a change.
    public init(key: String, before: String?, after: String?) {
        self.key = key
        self.before = before
        self.after = after
    }
}
