import Synchronization
package import TrackingControl
package import TrackingCore

/// An agent for tests that performs each command at once, and records the calls as text.
package final class FakeAgent: AgentControl {
    private let calls = Mutex<[String]>([])
    private let failure = Mutex<CommandFailure?>(nil)
    private let work = Mutex<String?>(nil)
    let records: [SpoolEntry]
    private let standing: AgentStatus

    package init(records: [SpoolEntry] = [], status: AgentStatus = Samples.status) {
        self.records = records
        self.standing = status
    }

    package var called: [String] { self.calls.withLock { $0 } }

    /// Makes every further call of a command fail with this error.
    package func fail(_ failure: CommandFailure) { self.failure.withLock { $0 = failure } }

    /// Sets the reason that ``respond()`` returns: work that delays the agent's decisions; `nil` for none.
    package func isBusy(with work: String?) { self.work.withLock { $0 = work } }

    private func note(_ call: String) throws(CommandFailure) {
        self.calls.withLock { $0.append(call) }
        if let failure = self.failure.withLock({ $0 }) { throw failure }
    }

    package func status() async -> AgentStatus { self.standing }
    package func respond() async -> String? {
        try? self.note("respond")
        return self.work.withLock { $0 }
    }
    package func setOn(_ isOn: Bool) async throws(CommandFailure) { try self.note("on \(isOn)") }

    package func sendNow() async throws(CommandFailure) -> Int {
        try self.note("sendNow")
        return 12
    }

    package func flush(_ progress: ControlProgress) async throws(CommandFailure) -> Int {
        try self.note("flush")
        await progress(200, 400)
        await progress(400, 400)
        return 400
    }

    package func startTrip(mode: String?, of trackable: TrackableID?) async throws(CommandFailure) -> Trip {
        try self.note("start \(mode ?? "-") \(trackable?.rawValue ?? "-")")
        return Samples.trip
    }

    package func stopTrip(of trackable: TrackableID?) async throws(CommandFailure) -> Trip {
        try self.note("stop \(trackable?.rawValue ?? "-")")
        return Samples.trip
    }

    package func queue(limit: Int) async throws(CommandFailure) -> [SpoolEntry] {
        try self.note("queue \(limit)")
        return Array(self.records.prefix(limit))
    }

    package func exportQueue(_ each: (SpoolEntry) async throws -> Void) async throws {
        try self.note("export")
        for record in self.records { try await each(record) }
    }

    package func purgeQueue() async throws(CommandFailure) -> Int {
        try self.note("purge")
        return 3
    }

    package func quarantine(limit: Int) async throws(CommandFailure) -> [QuarantinedRecord] {
        try self.note("quarantine \(limit)")
        return self.records.map { QuarantinedRecord(place: Int64($0.record.seq), entry: $0, reason: "too large") }
    }

    package func retryQuarantined(_ names: [RecordName]?) async throws(CommandFailure) -> Int {
        try self.note("retry \(names.map { "\($0)" } ?? "all")")
        return 1
    }

    package func dropQuarantined(_ names: [RecordName]?) async throws(CommandFailure) -> Int {
        try self.note("drop \(names.map { "\($0)" } ?? "all")")
        return 1
    }

    package func configure(
        _ settings: [String: String], isFromAfar: Bool
    ) async throws(CommandFailure) -> [SettingChange] {
        if isFromAfar { try self.note("from afar") }
        try self.note("configure \(settings.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })")
        return settings.sorted { $0.key < $1.key }.map { SettingChange(key: $0.key, before: "old", after: $0.value) }
    }

    package func track(_ id: TrackableID, destination: Coordinate?, isOnly: Bool) async throws(CommandFailure) {
        try self.note("\(isOnly ? "track" : "add") \(id) \(Self.text(destination))")
    }

    package func remove(_ id: TrackableID) async throws(CommandFailure) { try self.note("remove \(id)") }

    package func setDestination(_ destination: Coordinate?, of id: TrackableID) async throws(CommandFailure) {
        try self.note("destination \(id) \(Self.text(destination))")
    }

    package func report() async throws(CommandFailure) { try self.note("report") }

    package func bind(_ id: TrackableID, unsent: UnsentPoints, _ progress: ControlProgress) async throws(CommandFailure)
    {
        try self.note("bind \(id) \(unsent.rawValue)")
    }

    package func setUp(_ request: SetupRequest, isTrial: Bool) async throws(CommandFailure) -> [SettingChange] {
        try self.note("setup \(request) trial \(isTrial)")
        return [SettingChange(key: "password", before: nil, after: nil)]
    }

    private static func text(_ place: Coordinate?) -> String { place.map { "\($0.latitude),\($0.longitude)" } ?? "-" }
}

/// A sample status, a sample trip and sample records for tests of the agent's control.
package enum Samples {
    package static let id = try! TrackableID("van \"7\"")  // a valid name
    package static let stream = StreamID("k3f9q2wz")!  // a valid name

    package static var trip: Trip {
        var trip = Trip(id: "t1", mode: "bicycle", start: UnixTime(1_700_000_000), stream: self.stream, seq: 9)
        trip.distance = 1234.5
        trip.duration = 600
        return trip
    }

    package static var status: AgentStatus {
        var status = AgentStatus(
            time: UnixTime(1_700_000_100), isOn: true,
            connection: .init(isUp: false, broker: "mqtt://127.0.0.1:1883", since: UnixTime(5), reason: "refused"),
            mode: .balanced)
        status.recorders = [try! ClientID("history"), try! ClientID("backup")]  // valid names
        let resolution = try! Resolution(  // in range
            accuracy: .high, desiredInterval: .seconds(1), minimumDisplacement: 2.5)
        status.sensorResolution = resolution
        let inForce = ResolutionInForce(
            resolution: resolution, isNear: true, subscribers: 2, isLowBattery: false, state: .online, filter: .both,
            maximumSilence: .seconds(60))
        status.trackables = [
            .init(
                id: self.id, state: .online, resolution: inForce,
                destination: Coordinate(latitude: 52.5, longitude: -8.25), queue: .init(points: 3), trip: self.trip),
            .init(id: try! TrackableID("van-8"), state: .offline),  // a valid name
        ]
        status.queue = .init(points: 3, trips: 1, events: 2, bytes: 4096, oldest: UnixTime(1_699_999_999.5))
        status.dropped = 7
        status.unwritten = 2
        status.writeFailure = "the disk is full"
        status.quarantined = 1
        status.lastAttempt = UnixTime(1_700_000_090)
        status.lastAcknowledged = UnixTime(1_700_000_080)
        var fix = Location(
            coordinate: Coordinate(latitude: 52.1, longitude: -8.2)!, time: UnixTime(1_700_000_095))  // in range
        fix.speed = 4.5
        fix.accuracyHorizontal = 3
        fix.altitude = 20
        status.lastFix = fix
        status.battery = 0.83
        return status
    }

    package static func record(_ seq: UInt64) -> SpoolEntry {
        SpoolEntry(
            SpoolRecord(seq: seq, time: UnixTime(1_700_000_000), kind: .point, payload: Array("{\"extra\": 1.0}".utf8)),
            of: self.id, in: self.stream)
    }
}
