import Testing

@testable import TrackingCore

/// The owner among many publishers.
@Suite struct OwnerQueueTests {
    private func member(_ client: Int, _ session: String, since: Double) throws -> Member {
        let presence = Presence(
            kind: .publisher, session: try #require(SessionID(session)), connection: 0, lease: .seconds(90),
            since: UnixTime(since))
        return Member(trackable: try TrackableID("van"), client: try ClientID("d\(client)"), presence: presence)
    }

    @Test func theOwnerIsTheLatestAndATieGoesToTheGreaterSession() throws {
        var queue = OwnerQueue()
        #expect(queue.owner == nil)
        for (client, session, since) in [(1, "a", 5.0), (2, "c", 7), (3, "b", 7), (4, "d", 6)] {
            queue.set(try self.member(client, session, since: since))
        }
        #expect(queue.owner?.client.rawValue == "d2")
        queue.remove(try self.member(2, "c", since: 7))
        #expect(queue.owner?.client.rawValue == "d3")
        // The member publishes a new presence.
        queue.set(try self.member(3, "b", since: 1))
        #expect(queue.owner?.client.rawValue == "d4")
    }

    @Test func theOwnerMatchesThatOfAFullScan() throws {
        var random = SplitMix64(seed: 7)
        var queue = OwnerQueue()
        var present: [Int: Member] = [:]
        for _ in 0..<5_000 {
            let client = Int.random(in: 0..<60, using: &random)
            if let member = present[client], Bool.random(using: &random) {
                queue.remove(member)
                present[client] = nil
            } else {
                let member = try self.member(
                    client, "s\(client)", since: Double(Int.random(in: 0..<20, using: &random)))
                queue.set(member)
                present[client] = member
            }
            let owner = present.values.max {
                $0.presence.claim < $1.presence.claim
            }
            #expect(queue.owner == owner)
            #expect(queue.isEmpty == present.isEmpty)
            #expect(queue.heapCount <= 2 * present.count + 16)
        }
    }
}
