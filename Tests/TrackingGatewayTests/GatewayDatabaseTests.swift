import TestSupport
import Testing
import TrackingCore
import TrackingSubscriber
import TrackingTesting

@testable import TrackingGateway
@testable import TrackingRules
@testable import TrackingStore

/// The engines of the gateway's database, which share the tests.
enum GatewayDatabaseSubject: CaseIterable {
    case sqlite
    case postgres

    /// Runs a test with a function that opens one new database any number of times.
    func run(_ body: (@escaping @Sendable () throws -> GatewayDatabase) async throws -> Void) async throws {
        switch self {
        case .sqlite:
            let folder = TemporaryFolder()
            try await body { try folder.database() }
        case .postgres:
            let server = try await PostgresServer.shared()
            let address = try await server.makeDatabase()
            try await body { try GatewayDatabase(at: address) }
            withExtendedLifetime(server) {}
        }
    }
}

/// The stores of the gateway's database on both engines.
@Suite(.serialized, .timeLimit(.minutes(5))) struct GatewayDatabaseTests {
    private let now = UnixTime(1_800_000_000)
    private let actor = AuditActor(name: "boss", token: 3, address: "127.0.0.1")

    private func ids(_ names: String...) throws -> Set<TrackableID> { Set(try names.map { try TrackableID($0) }) }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func tokensSharesAndSessionsEndWithTheirRevocation(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let (access, other) = (AccessStore(try open(), by: self.actor), AccessStore(try open()))
            var grant = AccessGrant(
                name: "désk", publishes: .only(try self.ids("van")), reads: .only(try self.ids("bus")), begins: self.now
            )
            grant.readGroups = ["fleet"]
            let secret = try await access.makeToken(grant)
            await #expect(throws: TrackingError.self) { try await other.makeToken(grant) }
            let rules = RuleStore(try open())
            _ = try await rules.setLabel(of: TrackableID("tram"), ["name=Tram", "group=fleet"])
            let caller = try #require(try await other.caller(presenting: secret.text, now: self.now))
            let reads = try self.ids("bus", "tram")
            #expect(caller.name == "désk" && caller.reads == .only(reads) && !caller.isAdmin)
            #expect(try await other.caller(presenting: secret.text + "A", now: self.now) == nil)
            let session = try await other.beginSession(caller, now: self.now)
            #expect(session.time == AccessStore.longestSession)
            let signedIn = try #require(try await access.caller(ofSession: session.secret.text, now: self.now))
            #expect(try await access.validity(of: signedIn, now: self.now) != .over)
            let ended = try await access.beginSession(caller, now: self.now)
            try await other.endSession(ended.secret.text)
            #expect(try await access.caller(ofSession: ended.secret.text, now: self.now) == nil)
            #expect(try await access.revokeToken("désk", now: self.now))
            #expect(try await !other.revokeToken("désk", now: self.now))
            #expect(try await other.caller(presenting: secret.text, now: self.now) == nil)
            #expect(try await other.caller(ofSession: session.secret.text, now: self.now) == nil)
            #expect(try await other.validity(of: signedIn, now: self.now) == .over)
            // A revoked token does not keep its name.
            _ = try await access.makeToken(grant)
            #expect(try await other.grants(.token).map(\.name) == ["désk", "désk"])
        }
    }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func aOneTimeTokenBeginsOneSession(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let (access, other) = (AccessStore(try open()), AccessStore(try open()))
            var grant = AccessGrant(name: "desk", reads: .all, begins: self.now)
            grant.once = .unused
            let secret = try await access.makeToken(grant)
            let caller = try #require(try await access.caller(presenting: secret.text, now: self.now))
            #expect(try await other.caller(presenting: secret.text, now: self.now) == caller)
            let session = try await access.beginSession(caller, now: self.now)
            await #expect { try await other.beginSession(caller, now: self.now) } throws: {
                ($0 as? TrackingError)?.code == .notAuthorized
            }
            #expect(try await other.caller(presenting: secret.text, now: self.now) == nil)
            #expect(try await other.caller(ofSession: session.secret.text, now: self.now)?.reads == .all)
            #expect(try await other.grants(.token).map(\.once) == [.used])
        }
    }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func sessionsOfATokenAreLimited(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let access = AccessStore(try open())
            let secret = try await access.makeToken(AccessGrant(name: "desk", publishes: .only([]), begins: self.now))
            let caller = try #require(try await access.caller(presenting: secret.text, now: self.now))
            var secrets: [String] = []
            for second in 0...100 {
                let time = self.now.advanced(by: .seconds(second))
                secrets.append(try await access.beginSession(caller, now: time).secret.text)
            }
            #expect(try await access.caller(ofSession: secrets[0], now: self.now) == nil)
            #expect(try await access.caller(ofSession: secrets[1], now: self.now) != nil)
            #expect(try await access.caller(ofSession: secrets[100], now: self.now) != nil)
        }
    }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func shareLinksAreListedInPages(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let access = AccessStore(try open())
            let (van, bus) = (try TrackableID("van"), try TrackableID("bus"))
            for id in [van, bus, van] { _ = try await access.share(id, from: self.now, for: .seconds(60), stop: "s1") }
            let all = try await access.shares(of: nil, limit: 10)
            #expect(all.map(\.reads) == [.only([van]), .only([bus]), .only([van])] && all[0].stop == "s1")
            #expect(try await access.shares(of: van, limit: 10).map(\.number) == [all[0].number, all[2].number])
            #expect(try await access.shares(of: nil, below: all[0].number, limit: 1) == [all[1]])
            #expect(try await access.revokeShare(all[1].number, now: self.now))
            let log = try await AuditLog(try open()).entries()
            #expect(
                log.map(\.action) == [
                    "create share link", "create share link", "create share link", "revoke share link",
                ])
        }
    }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func auditIsReadInPages(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let audit = AuditLog(try open())
            for name in ["a", "b", "c"] { try await audit.add(.setFence, name, by: self.actor) }
            let entries = try await AuditLog(try open()).entries()
            #expect(entries.map(\.object) == ["a", "b", "c"] && entries.allSatisfy { $0.actor == self.actor })
            #expect(try await audit.entries(after: entries[0].number, limit: 1).map(\.object) == ["b"])
            #expect(try await audit.entries(since: UnixTime(9e9)).isEmpty)
        }
    }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func rulesFencesAndLabelsHaveVersions(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let (store, other) = (RuleStore(try open()), RuleStore(try open()))
            let center = try #require(Coordinate(latitude: 52.66, longitude: -8.63))
            let version = try await store.version()
            let small = try Fence(name: "depot", shape: .circle(center: center, radius: 100))
            #expect(try await store.add(small) == .created)
            #expect(
                try await other.add(try Fence(name: "depot", shape: .circle(center: center, radius: 200))) == .replaced)
            #expect(
                try await store.add(RuleDefinition(name: "in", .enter(fence: "depot"), groups: ["Zoo", "fleet"]))
                    == .created)
            await #expect(throws: TrackingError.self) { try await other.removeFence("depot") }
            let van = try TrackableID("van")
            #expect(try await other.setLabel(of: van, ["name=Van", "icon=van", "group=fleet"]).groups == ["fleet"])
            #expect(try await store.labels(of: [van])[van]?.name == "Van")
            #expect(try await store.groups() == ["fleet": [van]])
            #expect(try await store.rules().count == 1)
            #expect(try await other.version() > version)
            try await other.add(RuleDefinition(name: "Fast", .speed(above: 20)))
            // Names are sorted by their bytes.
            #expect(try await store.definitions().map(\.name) == ["Fast", "in"])
            #expect(try await store.removeRule("in"))
            #expect(try await !store.removeRule("in"))
            #expect(try await store.removeFence("depot"))
        }
    }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func stateOfTheRulesIsReplaced(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let database = try open()
            let van = try TrackableID("van")
            let stream = try #require(StreamID("abc"))
            var rows = RuleRows()
            for holds in [nil, true, false] as [Bool?] {
                rows.states = [
                    RuleBook.Entry(
                        trackable: van, rule: "in",
                        state: RuleState(holds: holds, since: holds == true ? self.now : nil, isReported: holds != nil))
                ]
                rows.streams[van] = RecordName(stream: stream, seq: holds == nil ? 1 : 2)
                rows.trips = rows.streams
                rows.watermarks[.init(trackable: van, kind: .trip, stream: stream)] = .init(seq: 7, time: self.now)
                rows.cursor = self.now
                let written = rows
                try await database.write { try written.write(to: $0, related: [Quarantine.erasable]) }
                let states = try await database.read { try RuleRows.entries($0) }
                #expect(states == written.states)
            }
            #expect(try await database.read { try RuleRows.names($0, in: .ruleStream) } == rows.streams)
            #expect(try await database.read { try RuleRows.names($0, in: .outboxTrip) } == rows.trips)
            #expect(try await database.read { try RuleRows.watermarks($0) } == rows.watermarks)
            #expect(try await database.read { try RuleRows.cursor($0) } == self.now)
            #expect(try await database.read { try RuleRows.trackables($0) } == [van])
            rows = RuleRows()
            rows.dropped = [RuleBook.Key(trackable: van, rule: "in")]
            rows.withdrawn = [van]
            let dropping = rows
            try await database.write { try dropping.write(to: $0, related: [Quarantine.erasable]) }
            #expect(try await database.read { try RuleRows.entries($0) }.isEmpty)
            try await database.write {
                try RuleRows.removeWatermarks(before: self.now.advanced(by: .seconds(1)), in: $0)
            }
            #expect(try await database.read { try RuleRows.watermarks($0) }.isEmpty)
        }
    }

    private func draft(_ number: Int, bytes: Int = 0, record: RecordName? = nil) throws -> Outbox.Draft {
        let text = String(repeating: "x", count: bytes)
        return Outbox.Draft(
            trackable: try TrackableID("van"), kind: .event, isOwn: number.isMultiple(of: 2),
            time: self.now.advanced(by: .seconds(number)), payload: "{\"ö\":\"\(text)\"}", record: record)
    }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func outboxIsReadInOrderOnce(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let database = try open()
            let (outbox, other) = (Outbox(database), Outbox(try open()))
            try await outbox.beginRange(now: self.now)
            let stream = try #require(StreamID("abc"))
            let early = [try self.draft(0)]
            try await database.write { try Outbox.add(early, to: $0) }
            try await outbox.begin("hook")
            try await other.begin("hook")
            let drafts = try (1...4).map { try self.draft($0, record: RecordName(stream: stream, seq: UInt64($0))) }
            try await database.write { try Outbox.add(drafts + drafts, to: $0) }
            let (entries, through) = try await other.next("hook", kinds: [.event], ownAlone: false, limit: 10)
            #expect(entries.map(\.time) == drafts.map(\.time) && entries.map(\.isOwn) == [false, true, false, true])
            #expect(entries.allSatisfy { $0.id == $0.place + entries[0].id - entries[0].place })
            #expect(entries[0].id > Int64(self.now.seconds * 1e6))
            #expect(try await outbox.next("hook", kinds: [.event], ownAlone: true, limit: 1).entries == [entries[1]])
            #expect(try await outbox.next("hook", kinds: [.trip], ownAlone: false, limit: 9).entries.isEmpty)
            #expect(try await outbox.unreadTrackables() == self.ids("van"))
            try await other.advance("hook", to: entries[1].place)
            try await other.advance("hook", to: entries[0].place)
            #expect(try await outbox.backlog("hook") == 2)
            #expect(try await outbox.trim(now: self.now) == 0)
            try await outbox.advance("hook", to: through)
            #expect(try await other.next("hook", kinds: [.event], ownAlone: false, limit: 9).entries.isEmpty)
            try await other.removeReaders(except: ["mqtt"])
            #expect(try await outbox.trim(now: self.now) == 0)
            // A reader that begins again does not read messages that were removed.
            try await outbox.begin("hook")
            #expect(try await outbox.backlog("hook") == 0)
        }
    }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func outboxIsLimitedInBytes(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let database = try open()
            let outbox = Outbox(database)
            try await outbox.begin("hook")
            let drafts = try (0..<10).map { try self.draft($0, bytes: 10_000) }
            try await database.write { try Outbox.add(drafts, to: $0) }
            #expect(try await database.write { try Outbox.trim(toBytes: 200_000, in: $0) } == 0)
            #expect(try await database.write { try Outbox.trim(toBytes: 50_000, in: $0) } == 6)
            let left = try await outbox.next("hook", kinds: [.event], ownAlone: false, limit: 100).entries
            #expect(left.map(\.time) == drafts[6...].map(\.time))
            let van = try TrackableID("van")
            try await database.write { try Outbox.remove(van, from: $0) }
            #expect(try await database.read { try Int64.fetchOne($0, sql: "SELECT bytes FROM outboxSize") } == 0)
        }
    }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func quarantineCountsAndErasuresErase(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let (database, van) = (try open(), try TrackableID("van"))
            let quarantine = Quarantine(database: database)
            let piece = RefusedPiece(reason: "no time", bytes: [0, 255, 39])
            for second in [5, 3] {
                try await quarantine.add([piece], of: van, from: "app", at: UnixTime(Double(second)))
            }
            let entry = try #require(try await quarantine.entries(limit: 9).first)
            #expect(
                entry.bytes == [0, 255, 39] && entry.times == 2 && entry.first == UnixTime(5)
                    && entry.last == UnixTime(5))
            let drafts = [try self.draft(1)]
            try await database.write { try Outbox.add(drafts, to: $0) }
            let erasures = Erasures(try open())
            try await erasures.erase(van, before: UnixTime(5))
            #expect(try await quarantine.entries(limit: 9).count == 1)
            try await erasures.erase(van, before: nil)
            #expect(try await quarantine.entries(limit: 9).isEmpty)
            let first = try await erasures.request(van, before: UnixTime(5))
            let second = try await erasures.request(van, before: nil, to: "m:/var/lib/godwit")
            #expect(
                try await Erasures(database).requests() == [.init(number: first, trackable: van, before: UnixTime(5))])
            #expect(try await Erasures(database).requests(to: "m:/var/lib/godwit").map(\.number) == [second])
            try await Erasures(database).remove(first)
            #expect(try await erasures.requests().isEmpty)
        }
    }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func credentialsAreRevokedAndWithdrawn(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let (store, other) = (CredentialStore(try open()), CredentialStore(try open()))
            let credential = AppCredential(
                id: try ClientID("app-1"), kind: .token, reads: [try TrackableID("van")], begins: self.now,
                for: .seconds(60))
            #expect(try await store.add(credential, by: self.actor))
            #expect(try await other.isValid(credential.id, at: self.now))
            #expect(try await other.open(.token) == [credential])
            #expect(try await other.revoke("app-1", now: self.now, by: self.actor)?.id == credential.id)
            #expect(try await store.revoke("app-1", now: self.now, by: self.actor) == nil)
            #expect(try await !store.isValid(credential.id, at: self.now))
            try await other.setWithdrawn([credential.id], now: self.now)
            #expect(try await store.open(.token).isEmpty)
            #expect(try await store.newest().map(\.revoked) == [self.now])
        }
    }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func failedTransactionChangesNothing(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let database = try open()
            await #expect(throws: TrackingError(.invalidConfiguration, "no")) {
                try await database.write { db in
                    try AuditLog.add(.setFence, "a", by: self.actor, to: db)
                    throw TrackingError(.invalidConfiguration, "no")
                }
            }
            let error = await #expect(throws: TrackingError.self) {
                try await database.write { try $0.execute(sql: "INSERT INTO session VALUES (1, NULL, 1, 1)") }
            }
            #expect(error?.code == .storeFailed)
            #expect(try await AuditLog(database).entries().isEmpty)
        }
    }

    /// Transactions that read rows and write others that depend on them do not overlap.
    @Test(arguments: GatewayDatabaseSubject.allCases)
    func writesOfSeveralProgramsFollowEachOther(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let database = try open()
                        for _ in 0..<25 {
                            try await database.write { db in
                                let value = try Int64.fetchOne(db, sql: "SELECT value FROM outboxBase") ?? 0
                                try db.execute(sql: "UPDATE outboxBase SET value = ?", arguments: [value + 1])
                            }
                        }
                        try database.close()
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await open().read { try Int64.fetchOne($0, sql: "SELECT value FROM outboxBase") } == 100)
        }
    }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func changesWakeTheTasksOfOtherPrograms(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let (database, other) = (try open(), try open())
            var changes = database.changes().makeAsyncIterator()
            for name in ["a", "b"] {
                try await AuditLog(other).add(.setFence, name, by: self.actor)
                while try await AuditLog(database).entries().last?.object != name { await changes.next() }
            }
            try other.close()
        }
    }

    @Test(arguments: GatewayDatabaseSubject.allCases)
    func databaseOfANewerVersionIsLeftAlone(_ subject: GatewayDatabaseSubject) async throws {
        try await subject.run { open in
            let table = subject == .sqlite ? "grdb_migrations" : "migration"
            try await open().write { try $0.execute(sql: "INSERT INTO \(table) VALUES ('future-9')") }
            let error = await #expect(throws: TrackingError.self) { try await AuditLog(try open()).entries() }
            #expect(error?.code == .storeUnusable)
        }
    }

    /// The connections that a restart of the server ends do not fail the next call, and no later change is missed.
    @Test func restartOfTheServerIsSurvived() async throws {
        let server = try await PostgresServer.start()
        let database = try GatewayDatabase(at: try await server.makeDatabase())
        var changes = database.changes().makeAsyncIterator()
        for name in ["a", "b"] {
            try await AuditLog(database).add(.setFence, name, by: self.actor)
            #expect(try await AuditLog(database).entries().last?.object == name)
            await changes.next()
            if name == "a" { try await server.restart() }
        }
        try database.close()
        withExtendedLifetime(server) {}
    }

    /// A connection that is silent, as after the loss of a host, is replaced, and the change that it missed wakes the
    /// tasks. A silent connection that is not replaced would wait until the time limit of the suite.
    @Test func silentConnectionIsReplaced() async throws {
        let server = try await PostgresServer.start()
        let address = try await server.makeDatabase()
        let port = try #require(address.firstMatch(of: #/:(\d+)\//#).flatMap { Int($0.1) })
        let proxy = try FaultProxy(to: port)
        let database = try GatewayDatabase(at: address.replacing(":\(port)/", with: ":\(proxy.port)/"))
        let other = try GatewayDatabase(at: address)
        try await AuditLog(other).add(.setFence, "a", by: self.actor)
        var changes = database.changes().makeAsyncIterator()
        await changes.next()
        proxy.swallow()
        try await AuditLog(other).add(.setFence, "b", by: self.actor)
        await changes.next()
        try database.close()
        try other.close()
        withExtendedLifetime((server, proxy)) {}
    }

    /// A save is repeated if the connection is lost while the server commits: the commit may have succeeded.
    @Test(arguments: GatewayDatabaseSubject.allCases)
    func repeatedSaveAddsNoEventOfARuleTwice(_ subject: GatewayDatabaseSubject) async throws {
        let depot = try #require(Coordinate(latitude: 52.66, longitude: -8.63))
        let fence = try Fence(name: "depot", shape: .circle(center: depot, radius: 100))
        let van = try TrackableID("van")
        var moment = Moment(now: MonotonicTime(.zero), wall: self.now)
        var machine = RulesStateMachine(
            .init(seed: 7), saved: .init(rules: [try Rule(name: "in", .enter(fence))]), at: moment)
        var saves: [RuleRows] = []
        func rows(_ actions: [RulesStateMachine.Action]) -> [RuleRows] {
            actions.compactMap { if case .save(let rows) = $0 { rows } else { nil } }
        }
        for distance in [500.0, 0, 0, 0] {
            moment = Moment(
                now: moment.now.advanced(by: .seconds(10)), wall: moment.wall.advanced(by: .seconds(10)))
            let fix = Location(
                coordinate: depot.destination(bearing: 0, distance: Meters(distance)), time: moment.wall)
            let update = ReceivedUpdate(
                update: LocationUpdate(location: fix), skipped: [], isLate: false, isRetained: false)
            saves += rows(machine.handle(.received(.location(van, update)), at: moment))
            // The saves of the events fail, and are repeated.
            let fails = saves.last?.drafts.isEmpty == false
            saves += rows(machine.handle(fails ? .saveFailed : .saved, at: moment))
            moment = Moment(now: machine.nextDeadline(at: moment), wall: moment.wall)
            saves += rows(machine.handle(.timerFired, at: moment))
        }
        #expect(saves.count { !$0.drafts.isEmpty } >= 2, "the save is repeated")
        let written = saves
        try await subject.run { open in
            let database = try open()
            for rows in written { try await database.write { try rows.write(to: $0, related: []) } }
            let outbox = Outbox(database)
            #expect(try await outbox.next("x", kinds: [.event], ownAlone: true, limit: 9).entries.count == 1)
        }
    }

    /// No error contains the password in the address.
    @Test func errorsDoNotContainThePassword() async throws {
        for address in ["postgres://me:s3cret@127.0.0.1:1/x", "postgres://me:s3cret/x@127.0.0.1/y"] {
            let database = try GatewayDatabase(at: address)
            let error = await #expect(throws: TrackingError.self) { try await AuditLog(database).entries() }
            #expect(error?.message.contains("s3cret") == false, "\(error?.message ?? "")")
            #expect(error?.message.contains("the gateway's database") == true)
        }
    }

    @Test func parametersAndTypesAreTranslated() {
        #expect(PostgresEngine.numbered("a = ? AND b = ? OR c = ?1") == "a = $1 AND b = $2 OR c = $1")
        #expect(PostgresEngine.numbered("SELECT 1") == "SELECT 1")
        #expect(
            PostgresEngine.translated("CREATE TABLE t(n INTEGER PRIMARY KEY, b BLOB, x REAL) STRICT, WITHOUT ROWID")
                == "CREATE TABLE t(n bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, b bytea, x float8)")
    }
}
