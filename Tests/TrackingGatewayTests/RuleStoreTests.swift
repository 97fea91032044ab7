import Testing
import TrackingCore
import TrackingStore

@testable import TrackingGateway
@testable import TrackingRules

@Suite struct RuleStoreTests {
    private let folder = TemporaryFolder()
    private let store: RuleStore
    private let van: TrackableID

    init() throws {
        self.store = RuleStore(try self.folder.database())
        self.van = try TrackableID("van-7")
    }

    private func circle(_ name: String) throws -> Fence {
        let center = try #require(Coordinate(latitude: 52.66, longitude: -8.63))
        return try Fence(name: name, shape: .circle(center: center, radius: 150))
    }

    @Test func aLabelIsWhatWasSetLast() async throws {
        _ = try await self.store.setLabel(of: self.van, ["name=Van 7", "icon=van", "group=north", "group=big"])
        let label = try await self.store.setLabel(of: self.van, ["name=", "group=-big", "group=south"])
        #expect(label.name == nil && label.icon == "van" && label.groups == ["north", "south"])
        #expect(try await self.store.labels() == [self.van: label])
        #expect(try await self.store.labels(of: []) == [:])
    }

    @Test(arguments: ["colour=red", "name", "icon=Van 7", "name=\u{7}", "group=\(String(repeating: "a", count: 129))"])
    func refusesWhatIsNoLabel(_ assignment: String) async throws {
        await #expect(throws: TrackingError.self) { try await self.store.setLabel(of: self.van, [assignment]) }
        #expect(try await self.store.labels() == [:])
    }

    @Test func fencesComeBackAsTheyWere() async throws {
        let polygon = """
            {"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":
            [[[-9,52],[-8,52],[-8,53,7],[-9,53],[-9,52]]]}}
            """
        let yard = try Fence(name: "yard", json: JSONValue(json: polygon.utf8))
        try await self.store.add(yard)
        try await self.store.add(try self.circle("depot"))
        #expect(try await self.store.fences() == [try self.circle("depot"), yard])
    }

    @Test(arguments: [
        #"{"type":"Point","coordinates":[1,2]}"#, #"{"type":"Polygon","coordinates":[[[1,95],[1,2],[2,2],[1,95]]]}"#,
        #"{"type":"Polygon","coordinates":7}"#, #"{"type":"Feature"}"#, #"{"center":[1],"radius":100}"#, "[]",
        #"{"type":"FeatureCollection","features":[]}"#,
    ])
    func refusesWhatIsNoFence(_ json: String) throws {
        let value = try JSONValue(json: json.utf8)
        let error = #expect(throws: TrackingError.self) { try Fence(name: "yard", json: value) }
        #expect(error?.message.contains("yard") == true)
    }

    /// Names appear in logs and messages.
    @Test func namesHaveNoControlCharacters() async throws {
        let rules = [
            RuleDefinition(name: "a\nb", .arrived), RuleDefinition(name: "b", .arrived, groups: ["x\u{7}"]),
            RuleDefinition(name: "c", .arrived, groups: [""]),
        ]
        for rule in rules {
            await #expect(throws: TrackingError.self) { try await self.store.add(rule) }
        }
        await #expect(throws: TrackingError.self) { try await self.store.add(try self.circle("a\tb")) }
        #expect(try await self.store.definitions() == [])
        #expect(try await self.store.fences() == [])
    }

    @Test func aRuleNeedsItsFence() async throws {
        let rule = RuleDefinition(name: "in", .enter(fence: "depot"), trackables: [self.van])
        let error = await #expect(throws: TrackingError.self) { try await self.store.add(rule) }
        #expect(error?.message.contains("no fence 'depot'") == true)
        try await self.store.add(try self.circle("depot"))
        try await self.store.add(rule)
        #expect(try await self.store.definitions() == [rule])
        let removal = await #expect(throws: TrackingError.self) { try await self.store.removeFence("depot") }
        #expect(removal?.message.contains("rule 'in'") == true)
        #expect(try await self.store.removeRule("in"))
        #expect(try await self.store.removeFence("depot"))
        #expect(try await !self.store.removeRule("in"))
    }

    /// Every stored value can be read again.
    @Test func aDefinitionThatCouldNotBeReadAgainIsRejected() async throws {
        let ids = try (0..<3000).map { try TrackableID("a-rather-long-name-of-a-trackable-for-all-\($0)") }
        let error = await #expect(throws: TrackingError.self) {
            try await self.store.add(RuleDefinition(name: "r", .arrived, trackables: ids))
        }
        #expect(error?.code == .invalidConfiguration && error?.message.contains("'r': it has") == true)
        try await self.store.add(RuleDefinition(name: "r", .arrived, trackables: Array(ids.prefix(1000))))
        #expect(try await self.store.rules().count == 1)
    }

    @Test(arguments: [
        RuleDefinition.Condition.enter(fence: "depot"), .leave(fence: "depot"), .dwell(fence: "depot", seconds: 90),
        .arrived, .silent(seconds: 600), .speed(above: 25.5), .lowBattery(below: 15),
    ])
    func everyRuleComesBackAsItWas(_ condition: RuleDefinition.Condition) async throws {
        try await self.store.add(try self.circle("depot"))
        let rule = RuleDefinition(name: "r", condition, trackables: [self.van], groups: ["north"])
        try await self.store.add(rule)
        #expect(try await self.store.definitions() == [rule])
    }

    /// A rule whose stored definition is damaged does not stop the others, and can be replaced and removed.
    @Test(arguments: [
        "{", #"{"when":"never"}"#, #"{"when":"enter"}"#, #"{"when":"arrived","trackables":[""]}"#,
        #"{"when":"arrived","trackables":"van"}"#, #"{"when":"arrived","groups":[5]}"#,
        #"{"when":"arrived","trackable":["van"]}"#,
    ])
    func anUnreadableRuleIsSkippedAndReported(_ definition: String) async throws {
        let fast = RuleDefinition(name: "fast", .speed(above: 20))
        try await self.store.add(fast)
        let insert = "INSERT OR REPLACE INTO rule(name, definition) VALUES('broken', ?)"
        func breakRule() async throws {
            try await self.folder.database().write { try $0.execute(sql: insert, arguments: [definition]) }
        }
        try await breakRule()
        #expect(try await self.store.rules().map(\.name) == ["fast"])
        #expect(try await self.store.definitions() == [fast])
        let unusable = try await self.store.unusableRules()
        #expect(unusable.map(\.name) == ["broken"] && unusable.first?.reason.isEmpty == false)
        try await self.store.add(RuleDefinition(name: "broken", .arrived))
        #expect(try await self.store.unusableRules() == [])
        try await breakRule()
        #expect(try await self.store.removeRule("broken"))
        #expect(try await self.store.unusableRules() == [])
    }

    @Test func aRuleWithoutItsFenceIsReported() async throws {
        try await self.store.add(try self.circle("depot"))
        try await self.store.add(RuleDefinition(name: "in", .enter(fence: "depot")))
        try await self.folder.database().write { try $0.execute(sql: "DELETE FROM fence") }
        #expect(try await self.store.rules() == [])
        let reasons = try await self.store.unusableRules().map(\.reason)
        #expect(reasons.count == 1 && reasons[0].contains("no fence 'depot'"))
    }

    @Test func aGroupMeansItsMembers() async throws {
        _ = try await self.store.setLabel(of: self.van, ["group=north"])
        let version = try await self.store.version()
        try await self.store.add(RuleDefinition(name: "fast", .speed(above: 20), groups: ["north"]))
        #expect(try await self.store.version() != version)
        #expect(try await self.store.rules().map(\.trackables) == [[self.van]])
        _ = try await self.store.setLabel(of: self.van, ["group="])
        // A group without members has no trackables, and does not mean all.
        #expect(try await self.store.rules().map(\.trackables) == [[]])
    }
}
