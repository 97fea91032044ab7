public import TrackingCore

/// The operations that a running agent offers to the user of the device and, where allowed, to a remote operator.
///
/// The protocol separates the control interfaces from the agent. Each method returns when its work is done. A method
/// that throws has changed nothing.
public protocol AgentControl: Sendable {
    /// Returns the present state of the agent.
    func status() async -> AgentStatus

    /// Waits until the part of the agent that makes decisions responds, which shows that the agent works. The state of
    /// the log does not matter. Returns at once before the log is open, because no decisions are made then.
    ///
    /// - Returns: The reason why the agent makes no decisions yet, for a human; `nil` if it does.
    func respond() async -> String?

    /// Switches tracking on or off. While tracking is off, the agent samples and sends nothing and withdraws its
    /// presence; the log remains. The switch survives a restart.
    func setOn(_ isOn: Bool) async throws(CommandFailure)

    /// Sends one batch of pending records now, or waits for the batch that is being sent.
    ///
    /// - Returns: The number of records in the batch.
    func sendNow() async throws(CommandFailure) -> Int

    /// Sends all pending records of the log, and returns when they are acknowledged.
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

    /// Returns the pending records of the log, oldest first.
    ///
    /// - Parameter limit: The largest number of records, 1 to 200.
    func queue(limit: Int) async throws(CommandFailure) -> [SpoolEntry]

    /// Passes every pending record to `each`, oldest first, one at a time. Ends early when `each` throws.
    func exportQueue(_ each: (SpoolEntry) async throws -> Void) async throws

    /// Deletes all pending records from the log.
    ///
    /// - Returns: The number of deleted records.
    func purgeQueue() async throws(CommandFailure) -> Int

    /// Returns the quarantined records of the log, oldest first.
    ///
    /// - Parameter limit: The largest number of records, 1 to 200.
    func quarantine(limit: Int) async throws(CommandFailure) -> [QuarantinedRecord]

    /// Makes quarantined records pending again; all of them if `names` is `nil`.
    ///
    /// - Returns: The number of records that are pending again.
    func retryQuarantined(_ names: [RecordName]?) async throws(CommandFailure) -> Int

    /// Deletes quarantined records; all of them if `names` is `nil`.
    ///
    /// - Returns: The number of deleted records.
    func dropQuarantined(_ names: [RecordName]?) async throws(CommandFailure) -> Int

    /// Changes the agent's settings while it runs: all of the given settings, or none of them if one is invalid.
    ///
    /// - Parameters:
    ///   - settings: Values by the long names of the options, in the form of the command line.
    ///   - isFromAfar: `true` for a command that arrived through the broker. Such a command may not set secrets, the
    ///     rights to command, or names of programs, files and brokers: `notAllowed`.
    /// - Returns: The changes; a secret appears without values.
    func configure(_ settings: [String: String], isFromAfar: Bool) async throws(CommandFailure) -> [SettingChange]

    /// Tracks a trackable: alone if `isOnly` is `true`, otherwise in addition to the others. The change survives a
    /// restart. A trackable that is already tracked gets the destination, if one is given.
    func track(_ id: TrackableID, destination: Coordinate?, isOnly: Bool) async throws(CommandFailure)

    /// Stops tracking a trackable. The change survives a restart.
    func remove(_ id: TrackableID) async throws(CommandFailure)

    /// Sets the destination of a trackable; `nil` removes the destination. The change survives a restart.
    func setDestination(_ destination: Coordinate?, of id: TrackableID) async throws(CommandFailure)

    /// Takes a fix now and publishes it as a live position, whatever the resolution in force.
    func report() async throws(CommandFailure)

    /// Tracks `id` in place of all tracked trackables. Throws `unsentPoints` with their number if earlier trackables
    /// have unsent points and `unsent` is `refuse`.
    func bind(
        _ id: TrackableID, unsent: UnsentPoints, _ progress: ControlProgress
    ) async throws(CommandFailure)

    /// Applies the values of a set-up link.
    ///
    /// - Parameter isTrial: `true` to return the changes without applying them.
    /// - Returns: The changes; the token appears as a change of the key `password` without values.
    func setUp(_ request: SetupRequest, isTrial: Bool) async throws(CommandFailure) -> [SettingChange]
}

/// Receives the progress of a command: the number of records that are sent, and the number of all records to send.
public typealias ControlProgress = @Sendable (_ done: Int, _ total: Int) async -> Void

/// One setting of the agent that a command changed, or would change.
public struct SettingChange: Hashable, Sendable {
    /// The long name of the option that changed, or of the setting `broker`, `user`, `password`, `trackable` or
    /// `destination`.
    public var key: String
    /// The value before the change; `nil` if the setting had none or is secret.
    public var before: String?
    /// The value after the change; `nil` if the setting was removed or is secret.
    public var after: String?

    /// Creates the description of a changed setting.
    public init(key: String, before: String?, after: String?) {
        self.key = key
        self.before = before
        self.after = after
    }
}
