import HTTPTypes
import Hummingbird
import Testing
import TrackingCore
import TrackingRules

@testable import TrackingGateway

/// The state of a share link, from which its page learns what it shows and why it is over.
@Suite struct ShareRoutesTests {
    private let van = try! TrackableID("van-7")  // a valid id

    @Test func aLinkNamesItsTrackableAndItsEnd() async throws {
        let gateway = try TestGateway()
        let now = TestGateway.now
        let secret = try await gateway.access.share(self.van, from: now, for: .seconds(3600)).text
        try await gateway.test { client in
            let answer = try await client.execute(uri: "/map/link", method: .get, headers: .bearer(secret))
            #expect(answer.status == .ok && answer.json?["state"] == .text("valid"))
            #expect(answer.json?["trackable"] == .text("van-7"))
            #expect(answer.json?["ends"]?.number == now.advanced(by: .seconds(3600)).seconds)
        }
    }

    /// The holder of a link that is over learns when it ended, but not what it showed.
    @Test func aLinkThatIsOverSaysWhy() async throws {
        let gateway = try TestGateway()
        let now = TestGateway.now
        let expired = try await gateway.access.share(self.van, from: UnixTime(1000), for: .seconds(500)).text
        let revoked = try await gateway.access.share(self.van, from: UnixTime(1000), for: .seconds(4e9)).text
        #expect(try await gateway.access.revokeShare(2, now: now))
        try await gateway.test { client in
            for (secret, state, ends) in [(expired, "expired", 1500), (revoked, "revoked", now.seconds)] {
                let answer = try await client.execute(uri: "/map/link", method: .get, headers: .bearer(secret))
                #expect(answer.status == .ok)
                #expect(answer.json == .object(["state": .text(state), "ends": .number(ends)]))
                let live = try await client.execute(uri: "/api/v1/trackables", method: .get, headers: .bearer(secret))
                #expect(live.status == .unauthorized)
            }
        }
    }

    @Test func aWrongLinkIsUnauthorizedAndLimited() async throws {
        let gateway = try TestGateway { $0.failureLimit = RateLimit(burst: 3, perSecond: 0.01) }
        let token = try await gateway.token()
        let expired = try await gateway.access.share(self.van, from: UnixTime(1000), for: .seconds(500)).text
        try await gateway.test { client in
            // A token is no link, and a link that is over counts as a wrong one.
            let secrets: [HTTPFields] = [
                [:], .bearer("gs_wrong"), .bearer(token), .bearer(expired), .bearer(expired),
            ]
            var answers: [Int] = []
            for headers in secrets {
                answers.append(try await client.execute(uri: "/map/link", method: .get, headers: headers).status.code)
            }
            #expect(answers == [401, 401, 401, 200, 429])
        }
    }
}
