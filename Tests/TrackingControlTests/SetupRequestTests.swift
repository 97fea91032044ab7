import Testing
import TrackingCore

@testable import TrackingControl

@Suite struct SetupRequestTests {
    @Test func aLinkIsRead() throws {
        let request = try SetupRequest(
            link:
                "godwit://setup?broker=mqtts%3A%2F%2Fbroker.example.org&user=box-12&token=s%26cr%3Dt&trackable=order%3A17"
        )
        #expect(request.broker == "mqtts://broker.example.org")
        #expect(request.user == "box-12")
        #expect(request.token == "s&cr=t")
        #expect(request.trackable == (try TrackableID("order:17")))
    }

    @Test func missingMembersRemainMissing() throws {
        let request = try SetupRequest(link: "godwit://setup?trackable=van-7")
        #expect(request.broker == nil && request.user == nil && request.token == nil)
        #expect(request.arguments == ["trackable": .text("van-7")])
    }

    @Test(arguments: [
        "godwit://setup?", "godwit://other?user=a", "https://setup?user=a", "godwit://setup?usr=a",
        "godwit://setup?user=a&user=b", "godwit://setup?user", "godwit://setup?user=%4", "godwit://setup?user=%zz",
        "godwit://setup?user=a#b", "godwit://setup?user=%ff", "godwit://setup?user=", "godwit://setup?token=a%0Ab",
        "godwit://setup?broker=http%3A%2F%2Fx", "godwit://setup?broker=mqtt%3A%2F%2Fu%3Ap%40h",
        "godwit://setup?trackable=", "godwit://setup?user=" + String(repeating: "x", count: 5000),
    ])
    func anInvalidLinkIsRefused(link: String) {
        #expect(throws: TrackingError.self) { try SetupRequest(link: link) }
    }

    @Test func theTokenIsNeverShown() throws {
        let request = try SetupRequest(link: "godwit://setup?user=a&token=hunter2")
        #expect(!"\(request)".contains("hunter2"))
        #expect(!String(reflecting: request).contains("hunter2"))
        var dumped = ""
        dump(request, to: &dumped)
        #expect(!dumped.contains("hunter2"))
        let error = #expect(throws: TrackingError.self) {
            try SetupRequest(link: "godwit://setup?token=hunter2%0A")
        }
        #expect(error?.message.contains("hunter2") == false)
    }
}
