import TestSupport
import Testing
import TrackingCore

@testable import TrackingRoads

/// Groups of enhancers with a broker between them. Plays Tests/Scenarios/group, and random conversations.
@Suite struct EnhancerGroupTests {
    @Test(arguments: ScenarioPlayer.names(in: "group")) func scenario(name: String) throws {
        var talk = try GroupConversation()
        #expect(try ScenarioPlayer(name, in: "group").play { words in try talk.happen(words) } == [])
    }

    @Test func thereAreScenarios() { #expect(ScenarioPlayer.names(in: "group").count >= 4) }

    /// In any order of deliveries, joins and kills, no update is older than the one before it, and at the end each
    /// trackable has its newest position on the road.
    @Test(arguments: Seeds.first(60)) func noOlderUpdateFollowsANewerOne(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        var hub = EnhancerHub()
        let ids = (1...20).map { "van-\($0)" }
        var runs = 0
        for round in 0..<300 {
            let name = ["a", "b", "c", "d"].randomElement(using: &generator)!
            switch Int.random(in: 0..<12, using: &generator) {
            case 0 where hub.nodes[name] == nil:
                runs += 1
                try hub.start(name, run: runs)
            case 1 where hub.nodes.count > 1 && hub.nodes[name] != nil && round % 3 == 0: hub.kill(name)
            case 3 where hub.nodes[name] != nil && round % 4 == 0: hub.drop(name)
            case 2 where hub.nodes.count > 1 && round % 5 == 0: hub.stop(name)
            default: hub.fix(ids.randomElement(using: &generator)!)
            }
            for _ in 0..<Int.random(in: 0..<40, using: &generator) { hub.step(using: &generator) }
            if Int.random(in: 0..<10, using: &generator) == 0 { hub.wait(.milliseconds(50)) }
        }
        if hub.nodes.isEmpty { try hub.start("a", run: runs + 1) }
        hub.settle()
        for id in hub.raw.keys.sorted() { hub.fix(id) }
        hub.settle()
        #expect(hub.faults == [])
        #expect(hub.enhanced == hub.raw)
    }

    /// The members get similar shares, and a member that leaves moves only its own trackables.
    @Test func aMemberThatLeavesMovesOnlyItsOwnTrackables() throws {
        let clients = try ["a", "b", "c"].map { try ClientID($0) }
        func owner(_ id: TrackableID, _ clients: [ClientID]) -> ClientID? {
            clients.max { GroupMembership.weight(of: $0, for: id) < GroupMembership.weight(of: $1, for: id) }
        }
        let ids = try (0..<3_000).map { try TrackableID("van-\($0)") }
        for client in clients {
            #expect((800...1_200).contains(ids.count { owner($0, clients) == client }))
        }
        for id in ids where owner(id, clients) != clients[2] {
            #expect(owner(id, clients) == owner(id, Array(clients.prefix(2))))
        }
    }

    /// Other versions of the program compute the same weights.
    @Test func theWeightsNeverChange() throws {
        let weight = GroupMembership.weight(of: try ClientID("roads-a"), for: try TrackableID("van-1"))
        #expect(weight == 0xbf67_09e3_e6f8_7089)
    }
}

/// A conversation of several enhancers over one broker, in which all messages are delivered before the next input.
private struct GroupConversation {
    private var hub = EnhancerHub()
    private var runs = 0

    init() throws {}

    /// `start a`, `kill a`, `stop a`, `hang a` (no message reaches it any more), `drop a` (its connection is lost, and
    /// made again), `fixes 4` (a fix of each of so many trackables), `wait 5`, `clear 2`, `shares`.
    mutating func happen(_ words: [String]) throws -> [String] {
        let before = self.hub.faults.count
        self.hub.published = []
        switch words[0] {
        case "start":
            self.runs += 1
            try self.hub.start(words[1], run: self.runs)
        case "kill": self.hub.kill(words[1])
        case "stop": self.hub.stop(words[1])
        case "hang": self.hub.hang(words[1])
        case "drop": self.hub.drop(words[1])
        case "fixes": for number in 1...(try #require(Int(words[1]))) { self.hub.fix("van-\(number)") }
        case "clear": self.hub.clear("van-\(words[1])")
        case "wait": self.hub.wait(.seconds(try #require(Double(words[1]))))
        default:
            Issue.record("'\(words[0])' is no input of a group")
            return []
        }
        self.hub.settle()
        let groups = Dictionary(grouping: self.hub.published, by: \.client).mapValues { $0.map(\.text) }
        return groups.keys.sorted().map { "\($0): \(groups[$0]!.joined(separator: " "))" }
            + self.hub.faults[before...]
    }
}
