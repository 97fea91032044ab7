import HTTPTypes
import Hummingbird
import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway
@testable import TrackingRules

/// Tokens that read the trackables of a group.
@Suite(.timeLimit(.minutes(1))) struct GroupTokenTests {
    private let stage: RecordedGateway
    private let rules: RuleStore
    private let token: String

    init() async throws {
        self.stage = try await RecordedGateway(["van": 3, "bus": 3, "car": 3])
        self.rules = RuleStore(try GatewayDatabase(at: self.stage.gateway.configuration.database))
        var grant = AccessGrant(name: "north", reads: .only([try TrackableID("car")]), begins: UnixTime(0))
        grant.readGroups = ["north", "far 'north'"]
        self.token = try await self.stage.gateway.access.makeToken(grant).text
        _ = try await self.rules.setLabel(of: try TrackableID("van"), ["group=north"])
    }

    @Test func itFollowsTheMembersOfItsGroups() async throws {
        let (token, rules) = (self.token, self.rules)
        try await self.stage.test { client async throws in
            func ids() async throws -> [String?]? {
                try await client.execute(uri: "/api/v1/trackables", method: .get, headers: .bearer(token))
                    .json?["trackables"]?.list?.map { $0["id"]?.text }
            }
            func status(_ path: String) async throws -> HTTPResponse.Status {
                try await client.execute(uri: "/api/v1/trackables/\(path)", method: .get, headers: .bearer(token))
                    .status
            }
            #expect(try await ids() == ["car", "van"])
            #expect(try await status("bus/history") == .forbidden)
            _ = try await rules.setLabel(of: try TrackableID("bus"), ["group=far 'north'"])
            _ = try await rules.setLabel(of: try TrackableID("van"), ["group=-north"])
            #expect(try await ids() == ["bus", "car"])
            #expect(try await status("bus/history") == .ok)
            #expect(try await status("van/history") == .forbidden)
            #expect(try await status("van/position") == .forbidden)
        }
    }

    @Test func itsRightsAreStored() async throws {
        let grant = try #require(try await self.stage.gateway.access.grants(.token).first { $0.name == "north" })
        #expect(grant.readGroups == ["north", "far 'north'"])
        #expect(grant.reads == .only([try TrackableID("car")]))
    }

    /// An answer in progress ends only if the caller has lost a trackable.
    @Test func anAnswerEndsWithItsRight() async throws {
        let access = self.stage.gateway.access
        let caller = try #require(try await access.caller(presenting: self.token, now: UnixTime(1)))
        _ = try await self.rules.setLabel(of: try TrackableID("bus"), ["group=north"])
        #expect(try await access.stillHolds(caller, now: UnixTime(1)))
        _ = try await self.rules.setLabel(of: try TrackableID("van"), ["group="])
        #expect(try await !access.stillHolds(caller, now: UnixTime(1)))
    }

    /// The client opens the stream again, and then receives the present members.
    @Test(arguments: [("bus", "group=north"), ("van", "group=")])
    func aStreamEndsWhenItsGroupChanges(_ id: String, _ change: String) async throws {
        let gateway = self.stage.gateway
        let caller = try #require(try await gateway.access.caller(presenting: self.token, now: UnixTime(1)))
        let (events, received) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let hub = LiveHub(events: events) { _, _ in }
        let stream = try #require(
            hub.open(LiveSelection(.everything, reads: caller.reads), for: caller, after: nil) {})
        let watch = RevocationWatch(hub: hub, database: try GatewayDatabase(at: gateway.configuration.database))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await watch.run() }
            defer { group.cancelAll() }
            _ = try await self.rules.setLabel(of: try TrackableID(id), [change])
            while true {
                guard case .ended(let ending) = await stream.next() else { continue }
                #expect(ending == .changed)
                break
            }
        }
        withExtendedLifetime(received) {}
    }
}
