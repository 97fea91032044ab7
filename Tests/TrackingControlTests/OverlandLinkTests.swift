import Testing
import TrackingCore

@testable import TrackingControl

@Suite struct OverlandLinkTests {
    private static let start = "overland://setup?url=https%3A%2F%2Fexample.org%2Foverland"

    @Test func aLinkAndItsAnswerSetUpAnAgent() throws {
        let link = try OverlandLink(link: Self.start + "&token=s%26cret&device_id=phone&unique_id=yes")
        #expect(link.url == "https://example.org/overland" && link.token == "s&cret")
        let answer = #"{"name":"box","broker":"mqtts://b.example.org","trackable":"van-7","user":"box","more":1}"#
        let request = try link.request(answer: answer.utf8)
        #expect(request.broker == "mqtts://b.example.org" && request.user == "box" && request.token == "s&cret")
        #expect(request.trackable?.rawValue == "van-7")
    }

    @Test(arguments: [
        "overland://setup?token=a", Self.start, Self.start + "&token=", Self.start + "&token=a%0Ab",
        Self.start + "&token=a&token=b", "overland://setup?url=file%3A%2F%2F%2Fetc%2Fpasswd&token=a",
        "overland://setup?url=https%3A%2F%2Fu%3Ap%40h%2F&token=a",
        "overland://setup?url=https%3A%2F%2Fh%0Aoutput&token=a",
        "godwit://setup?user=a",
    ])
    func anInvalidLinkIsRefused(link: String) {
        #expect(throws: TrackingError.self) { try OverlandLink(link: link) }
    }

    @Test(arguments: [
        ("<html>", "no gateway"), (#"{"name":"Godwit"}"#, "token"),
        (#"{"name":"box","trackable":"van-7","user":"box"}"#, "--agent-broker"),
        (#"{"broker":"ftp://x","trackable":"van-7","user":"box"}"#, "mqtt[s]://"),
    ])
    func anInvalidAnswerIsRefusedWithAReason(answer: String, reason: String) throws {
        let link = try OverlandLink(link: Self.start + "&token=hunter2")
        let error = #expect(throws: TrackingError.self) { try link.request(answer: answer.utf8) }
        #expect(error?.message.contains(reason) == true)
        #expect(error?.message.contains("hunter2") == false)
    }

    @Test func theTokenIsNeverShown() throws {
        let link = try OverlandLink(link: Self.start + "&token=hunter2")
        var dumped = ""
        dump(link, to: &dumped)
        #expect(!("\(link)" + String(reflecting: link) + dumped).contains("hunter2"))
    }
}
