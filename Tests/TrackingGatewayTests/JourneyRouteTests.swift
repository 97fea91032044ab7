import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway
@testable import TrackingRules

/// The routes of journeys and estimates, with a broker that accepts, rejects or loses what the gateway publishes.
@Suite(.timeLimit(.minutes(1))) struct JourneyRouteTests {
    /// The behaviour of the broker.
    enum Broker: Sendable {
        case stores, rejects, isAway
    }

    /// A gateway that knows `van` and `bike`, and the journeys at its broker.
    private final class Stage: Sendable {
        let folder = TemporaryFolder()
        let progress = Mutex<[TrackableID: JourneyProgress]>([:])
        let caller = Mutex(Caller(name: "boss", reads: .all, isAdmin: true))
        let broker: Broker

        init(_ broker: Broker = .stores) { self.broker = broker }

        private var live: LiveState {
            LiveState(
                known: { id in
                    guard ["van", "bike"].contains(id.rawValue) else { return nil }
                    return LiveState.Known(progress: self.progress.withLock { $0[id] ?? JourneyProgress() })
                }, positions: { [:] },
                journeys: { self.progress.withLock { $0.compactMapValues(\.journey) } }, isConnected: { true })
        }

        private var desk: JourneyDesk {
            JourneyDesk { (journey, id) throws(TrackingError) in
                switch self.broker {
                case .stores: self.progress.withLock { $0[id, default: JourneyProgress()].journey = journey }
                case .rejects: throw TrackingError(.notAuthorized, "not authorized")
                case .isAway: throw TrackingError(.connectionLost, "there is no connection to the broker")
                }
            } arrives: { journey, id, _ in
                self.progress.withLock { $0[id]?.journey == journey }
            }
        }

        func send(
            _ method: HTTPRequest.Method, _ path: String, _ body: String = "", _ headers: HTTPFields = [:],
            hasDesk: Bool = true
        ) async throws -> RouterClient.Answer {
            let router = Router(context: GatewayRequestContext.self)
            router.add(middleware: SetCaller(caller: self.caller.withLock { $0 }))
            let database = try self.folder.database()
            let access = GatewayConfiguration(host: "127.0.0.1", port: 0, database: "").access
            AdminRoutes(
                database: database, history: nil, live: self.live, configuration: access, commands: nil,
                journeys: hasDesk ? self.desk : nil
            ).add(to: router)
            APIRoutes(
                history: nil, live: self.live, names: RuleStore(database), access: AccessStore(database)
            ).add(to: router)
            return try await Application(router: router).testRoutes { client in
                try await client.execute(
                    uri: "/api/v1/\(path)", method: method, headers: headers, body: ByteBuffer(string: body))
            }
        }
    }

    /// Gives one caller to every request.
    private struct SetCaller: RouterMiddleware {
        let caller: Caller

        func handle(
            _ request: Request, context: GatewayRequestContext,
            next: @concurrent (Request, GatewayRequestContext) async throws -> Response
        ) async throws -> Response {
            var context = context
            context.caller = self.caller
            return try await next(request, context)
        }
    }

    private static let path = "trackables/van/journey"
    private static let body = #"{"stops":[{"id":"a","name":"Depot","location":[9.52,47.14],"planned":1795411697}]}"#
    private static let written =
        #"{"stops":[{"id":"a","name":"Depot","location":[9.52,47.14],"radius":150,"planned":1795411697}]}"#

    @Test func aJourneyIsSetReadReplacedAndCleared() async throws {
        let stage = Stage()
        #expect(try await stage.send(.get, Self.path).status == .notFound)
        #expect(try await stage.send(.delete, Self.path).status == .notFound)
        let missing = try await stage.send(.put, Self.path, Self.body, [.ifMatch: "*"])
        #expect(missing.status == .preconditionFailed && missing.text.contains("does not exist"))
        let made = try await stage.send(.put, Self.path, Self.body, [.ifNoneMatch: "*"])
        #expect(made.status == .created && made.text == Self.written, "\(made.text)")
        let tag = try #require(made.headers[.eTag])
        let read = try await stage.send(.get, Self.path)
        #expect(read.text == Self.written && read.headers[.eTag] == tag)
        #expect(try await stage.send(.get, Self.path, "", [.ifNoneMatch: tag]).status == .notModified)
        #expect(try await stage.send(.put, Self.path, Self.body, [.ifNoneMatch: "*"]).status == .preconditionFailed)
        let other = Self.body.replacing("Depot", with: "Shop")
        #expect(try await stage.send(.put, Self.path, other, [.ifMatch: tag]).status == .ok)
        #expect(try await stage.send(.put, Self.path, Self.body, [.ifMatch: tag]).status == .preconditionFailed)
        #expect(try await stage.send(.delete, Self.path, "", [.ifMatch: tag]).status == .preconditionFailed)
        #expect(try await stage.send(.get, "journeys").text.contains("Shop"))
        #expect(try await stage.send(.delete, Self.path).status == .noContent)
        #expect(try await stage.send(.get, "journeys").text == #"{"journeys":{}}"#)
        let audit = try await AuditLog(stage.folder.database()).entries()
        #expect(audit.map(\.action) == ["set journey", "set journey", "clear journey"])
        #expect(audit.allSatisfy { $0.object == "van" && $0.actor.name == "boss" }, "neither stops nor places")
    }

    @Test(arguments: [
        (#"{"stops":[]}"#, 400, "stops must have at least one element"),
        (#"{"stops":[{"id":"a","location":[181,47]}]}"#, 400, "stops[0].location"),
        (#"{"stops":[{"id":"a","location":[9,91]}]}"#, 400, "stops[0].location"),
        (#"{"stops":[{"id":"a","location":[9,47],"radius":0}]}"#, 400, "stops[0].radius"),
        (#"{"stops":[{"id":"a","location":[9,47]},{"id":"a","location":[9,47]}]}"#, 400, "stops[1].id"),
        (#"{"stops":[{"id":"a","location":[9,47]}],"profile":"plane"}"#, 400, "profile"),
        (#"{"stops":[{"id":"a","location":[9,47]}],"profil":"bus"}"#, 400, #"\"profil\" is unknown"#),
        (#"{"stops":[{"id":"a","location":[9,47],"plannd":5}]}"#, 400, #"\"plannd\" is unknown"#),
        ("no JSON", 400, "is not a journey"),
    ])
    func aBadJourneyIsRejectedWithTheReason(body: String, status: Int, reason: String) async throws {
        let stage = Stage()
        let answer = try await stage.send(.put, Self.path, body)
        #expect(answer.status.code == status && answer.text.contains(reason), "\(answer.text)")
        #expect(stage.progress.withLock { $0.isEmpty })
        #expect(try await AuditLog(stage.folder.database()).entries().isEmpty)
    }

    @Test func tooManyStopsAreRejected() async throws {
        let stop = { (number: Int) in #"{"id":"\#(number)","location":[9,47]}"# }
        let more = "{\"stops\":[\((0...200).map(stop).joined(separator: ","))]}"
        let answer = try await Stage().send(.put, Self.path, more)
        #expect(answer.status == .badRequest && answer.text.contains("at most 200"), "\(answer.text)")
        let many = "{\"stops\":[\((0..<10_000).map(stop).joined(separator: ","))]}"
        let large = try await Stage().send(.put, Self.path, many)
        #expect(large.status == .contentTooLarge && large.text.contains("32768 bytes"), "\(large.text)")
    }

    @Test(arguments: [
        (Broker.rejects, 502, "broker/add-gateway --commands"), (.isAway, 503, "no connection to the broker"),
    ])
    func theAnswerFollowsTheBroker(broker: Broker, status: Int, reason: String) async throws {
        let stage = Stage(broker)
        let answer = try await stage.send(.put, Self.path, Self.body)
        #expect(answer.status.code == status && answer.text.contains(reason), "\(answer.text)")
        #expect(try await stage.send(.get, Self.path).status == .notFound)
    }

    @Test func onlyAdministratorsSetJourneysOfKnownTrackables() async throws {
        let stage = Stage()
        #expect(try await stage.send(.put, "trackables/vna/journey", Self.body).status == .notFound)
        let off = try await stage.send(.put, Self.path, Self.body, hasDesk: false)
        #expect(off.status == .forbidden && off.text.contains("--allow-commands"))
        stage.caller.withLock { $0.isAdmin = false }
        #expect(try await stage.send(.put, Self.path, Self.body).status == .forbidden)
        #expect(try await stage.send(.delete, Self.path).status == .forbidden)
        #expect(stage.progress.withLock { $0.isEmpty })
    }

    @Test func journeysHavePagesAndAreForTheirReaders() async throws {
        let stage = Stage()
        for id in ["van", "bike", "bus"] {
            let id = try TrackableID(id)
            stage.progress.withLock { $0[id] = JourneyProgress(journey: SampleJourney.journey) }
        }
        let first = try await stage.send(.get, "journeys?limit=2")
        #expect(first.json?["journeys"]?.object?.keys.sorted() == ["bike", "bus"])
        #expect(first.json?["next"] == .text("bus"))
        let last = try await stage.send(.get, "journeys?after=bus")
        #expect(last.json?["journeys"]?.object?.keys.sorted() == ["van"] && last.json?["next"] == nil)
        #expect(last.json?["journeys"]?["van"]?["stops"]?.list?.count == 3)
        stage.caller.withLock { $0 = Caller(name: "eye", reads: .only([try! TrackableID("bus")])) }  // a valid id
        #expect(try await stage.send(.get, "journeys").json?["journeys"]?.object?.keys.sorted() == ["bus"])
        #expect(try await stage.send(.get, Self.path).status == .forbidden)
        #expect(try await stage.send(.get, "trackables/van/estimate").status == .forbidden)
    }

    /// A share link reads the arrival at its own stop, and no journey.
    @Test func aShareLinkReadsOnlyItsEstimate() async throws {
        let stage = Stage()
        let van = try TrackableID("van")
        #expect(try await stage.send(.get, "trackables/van/estimate").status == .notFound)
        stage.progress.withLock {
            $0[van] = JourneyProgress(journey: SampleJourney.journey, estimate: SampleJourney.estimate())
        }
        let whole = try await stage.send(.get, "trackables/van/estimate")
        #expect(whole.json?["stops"]?.list?.count == 3 && whole.headers[.eTag] != nil)
        stage.caller.withLock {
            $0 = Caller(name: "link", reads: .only([van]), span: UnixTime(1_789_999_000)..<UnixTime(1_790_009_000))
            $0.stop = "order-22"
        }
        let part = try await stage.send(.get, "trackables/van/estimate")
        #expect(part.json?["stop"]?["name"] == .text("Cafe Berta") && part.json?["stopsBefore"] == .number(1))
        for secret in SampleJourney.secrets(0) + SampleJourney.secrets(2) { #expect(!part.text.contains(secret)) }
        #expect(try await stage.send(.get, Self.path).status == .forbidden)
        #expect(try await stage.send(.get, "journeys").status == .forbidden)
    }

    // MARK: - Links

    @Test func aLinkIsForAStopOfTheJourney() async throws {
        let stage = Stage()
        let van = try TrackableID("van")
        func share(_ stop: String) async throws -> RouterClient.Answer {
            try await stage.send(.post, "shares", #"{"trackable":"van","for":"2h","stop":"\#(stop)"}"#)
        }
        let early = try await share("order-99")
        #expect(early.status == .created, "a later journey may have the stop")
        stage.progress.withLock { $0[van] = JourneyProgress(journey: SampleJourney.journey) }
        let made = try await share("order-22")
        #expect(made.status == .created && made.json?["stop"] == .text("order-22"))
        let wrong = try await share("order-99")
        #expect(wrong.status == .badRequest)
        #expect(wrong.text.contains("'order-11', 'order-22', 'order-33'"), "\(wrong.text)")
        #expect(try await share(String(repeating: "x", count: 65)).status == .badRequest)
        let number = try await stage.send(.post, "shares", #"{"trackable":"van","for":"2h","stop":7}"#)
        #expect(number.status == .badRequest && number.text.contains("'stop'"))
        let list = try await stage.send(.get, "shares")
        #expect(list.json?["shares"]?.list?.map { $0["stop"] } == [.text("order-22"), .text("order-99")])
        let secret = try #require(made.json?["url"]?.text?.split(separator: "/").last)
        let access = AccessStore(try stage.folder.database())
        let caller = try await access.caller(presenting: String(secret), now: TestGateway.now)
        #expect(caller?.stop == "order-22")
    }

    /// The number of changes that run.
    private final class Running: Sendable {
        let count = Atomic(0)
    }

    /// A change of a journey waits for an earlier change of the same journey.
    @Test func changesOfOneJourneyFollowEachOther() async throws {
        let desk = JourneyDesk(patience: .seconds(60)) { (_, _) throws(TrackingError) in
        } arrives: { _, _, _ in
            true
        }
        let van = try TrackableID("van")
        let running = Running()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try await desk.exclusively(van) {
                        #expect(running.count.add(1, ordering: .relaxed).newValue == 1)
                        await Task.yield()
                        running.count.subtract(1, ordering: .relaxed)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
