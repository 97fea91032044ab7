public import TrackingCore

/// The operations of a running agent, the publisher program on a device. The device's user may request all of them, a
/// remote operator only some.
///
/// The protocol separates the control interfaces (local socket, broker) from the agent. Each method returns when its
/// work is done. A method that throws has not changed the settings, with two exceptions: a change that hides positions,
/// and the change of ``bind(_:unsent:_:)``. These two take effect even if they cannot be saved for the next start.
public protocol AgentControl: Sendable {
    /// Returns the agent's status: the connection to the broker, the trackables, the unacknowledged records, the last
    /// fix and the battery.
    func status() async -> AgentStatus

    /// Waits until the agent's publisher has answered a query, which shows that the agent is alive. Returns at once
    /// while the publisher is not running or still opens its log.
    ///
    /// - Returns: "opening the log", as text for people, while the log is being opened; otherwise `nil`.
    func respond() async -> String?

    /// Switches tracking on or off. While tracking is off, the agent samples and sends nothing, and other clients no
    /// longer see it as present. The log of unsent records remains. The switch survives a restart.
    func setOn(_ isOn: Bool) async throws(CommandFailure)

    /// Sends one batch of pending records (records without an acknowledgement) of each trackable now. If a batch of a
    /// trackable is already being sent, that batch counts, and no further one is sent. Returns when the broker has
    /// acknowledged the batches.
    ///
    /// - Returns: The number of records in the batches; 0 when no record is pending.
    /// - Throws: `isOff` while tracking is off; `notConnected` without a connection to the broker.
    func sendNow() async throws(CommandFailure) -> Int

    /// Sends all pending records (those without an acknowledgement yet) of the tracked trackables, and returns when
    /// they are acknowledged.
    ///
    /// - Parameter progress: Called after each batch, and at least every 10 s.
    /// - Returns: The number of records sent.
    /// - Throws: `isOff` while tracking is off; `notConnected` without a connection to the broker.
    func flush(_ progress: ControlProgress) async throws(CommandFailure) -> Int

    /// Begins a trip of a trackable.
    ///
    /// - Parameters:
    ///   - mode: The mode of travel, such as `car`, 1 to 64 bytes; `nil` lets the agent choose.
    ///   - trackable: The trackable that makes the trip; `nil` for the only tracked one.
    /// - Throws: `tripUnderWay` if the trackable's trip has already begun; `unknownTrackable` if the agent does not
    ///   track it; `invalidArguments` for an invalid mode, and if `trackable` is `nil` and several trackables or none
    ///   are tracked.
    func startTrip(mode: String?, of trackable: TrackableID?) async throws(CommandFailure) -> Trip

    /// Ends the current trip of a trackable.
    ///
    /// - Parameter trackable: The trackable that makes the trip; `nil` for the only tracked one.
    /// - Throws: `noTrip` if no trip has begun; `unknownTrackable` if the agent does not track the trackable;
    ///   `invalidArguments` if `trackable` is `nil` and several trackables or none are tracked.
    func stopTrip(of trackable: TrackableID?) async throws(CommandFailure) -> Trip

    /// Returns the pending records of the log (those without an acknowledgement yet), oldest first.
    ///
    /// - Parameter limit: The largest number of records to return, 1 to 200.
    func queue(limit: Int) async throws(CommandFailure) -> [SpoolEntry]

    /// Passes every pending record of the log (each record without an acknowledgement yet) to the function `each`,
    /// oldest first, one at a time. Ends early when `each` throws.
    func exportQueue(_ each: (SpoolEntry) async throws -> Void) async throws

    /// Deletes all pending records (those without an acknowledgement yet) from the log.
    ///
    /// - Returns: The number of deleted records.
    func purgeQueue() async throws(CommandFailure) -> Int

    /// Returns the quarantined records of the log, oldest first. A quarantined record was rejected for good and set
    /// aside.
    ///
    /// - Parameter limit: The largest number of records to return, 1 to 200.
    func quarantine(limit: Int) async throws(CommandFailure) -> [QuarantinedRecord]

    /// Makes quarantined records pending again, so that the agent sends them again. A quarantined record was rejected
    /// for good and set aside.
    ///
    /// - Parameter names: The names of the records; `nil` for all quarantined records.
    /// - Returns: The number of records that are pending again.
    func retryQuarantined(_ names: [RecordName]?) async throws(CommandFailure) -> Int

    /// Deletes quarantined records from the log. A quarantined record was rejected for good and set aside.
    ///
    /// - Parameter names: The names of the records; `nil` for all quarantined records.
    /// - Returns: The number of deleted records.
    func dropQuarantined(_ names: [RecordName]?) async throws(CommandFailure) -> Int

    /// Changes the agent's settings while it runs. If one setting is invalid, none of them changes.
    ///
    /// - Parameters:
    ///   - settings: The new values by the long names of the options, written as on the command line.
    ///   - isFromAfar: `true` for a command that arrived through the broker. It may not change secrets, the right to
    ///     command the agent, or the names of programs, files and brokers.
    /// - Returns: The changed settings; for a privacy zone, a secret and the destination, the values are left out.
    /// - Throws: `notAllowed` for a setting that a command from the broker may not change; `invalidArguments` for an
    ///   unknown setting or an invalid value.
    func configure(_ settings: [String: String], isFromAfar: Bool) async throws(CommandFailure) -> [SettingChange]

    /// Tracks a trackable: in place of all others if `isOnly` is `true`, otherwise in addition to them. The
    /// destination, if one is given, is also set for a trackable that is already tracked. The change survives a
    /// restart.
    func track(_ id: TrackableID, destination: Coordinate?, isOnly: Bool) async throws(CommandFailure)

    /// Stops tracking a trackable. The change survives a restart.
    ///
    /// - Throws: `unknownTrackable` if the agent does not track the trackable.
    func remove(_ id: TrackableID) async throws(CommandFailure)

    /// Sets the destination of a trackable; `nil` removes the destination. The change survives a restart.
    ///
    /// - Throws: `unknownTrackable` if the agent does not track the trackable.
    func setDestination(_ destination: Coordinate?, of id: TrackableID) async throws(CommandFailure)

    /// Requests a fix from the receiver now, and returns when the fix was recorded. The fix is published as the
    /// trackable's live position, even if the resolution (interval and displacement) would skip it.
    ///
    /// - Throws: `isOff` while tracking is off; `failed` if the receiver delivers no position within 20 s.
    func report() async throws(CommandFailure)

    /// Tracks the trackable `id` in place of all tracked trackables. If it is already the only one, nothing changes.
    ///
    /// - Parameters:
    ///   - id: The trackable to track.
    ///   - unsent: The treatment of points of the earlier trackables that are not sent yet: reject the change, delete
    ///     the points, or send them first.
    ///   - progress: Receives the progress of sending the unsent points.
    /// - Throws: `unsentPoints` with their number, if there are unsent points and `unsent` is `refuse`; `isOff` if
    ///   `unsent` is `send` while tracking is off; `failed` if the change cannot be saved for the next start.
    func bind(
        _ id: TrackableID, unsent: UnsentPoints, _ progress: ControlProgress
    ) async throws(CommandFailure)

    /// Applies the values of a set-up link, which gives the agent its broker, user, password and trackable.
    ///
    /// - Parameter isTrial: `true` to return the changes without applying them.
    /// - Returns: The changed settings. The password of the link appears under the key `password`, without its values.
    func setUp(_ request: SetupRequest, isTrial: Bool) async throws(CommandFailure) -> [SettingChange]
}

/// A function that receives the progress of a command: the number of records sent so far, and the number of all records
/// to send.
public typealias ControlProgress = @Sendable (_ done: Int, _ total: Int) async -> Void

/// One setting of the agent that a command changed, or would change.
public struct SettingChange: Hashable, Sendable {
    /// The name of the setting: the long name of an option, or `broker`, `user`, `password`, `trackable` or
    /// `destination`.
    public var key: String
    /// The value of the setting before the command changed it; `nil` if the setting had none, or if its values are not
    /// shown (secrets, privacy zones and destinations).
    public var before: String?
    /// The value of the setting after the command changed it; `nil` if the setting was removed, or if its values are
    /// not shown (secrets, privacy zones and destinations).
    public var after: String?

    /// Creates the description of a changed setting from its name, its old value and its new value.
    public init(key: String, before: String?, after: String?) {
        self.key = key
        self.before = before
        self.after = after
    }
}
