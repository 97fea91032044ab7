import NIOHTTP1
import Testing

@testable import TrackingGateway

/// The `Host` of requests, and the origin of pages.
@Suite struct RequestHostTests {
    private func isAcceptable(_ hosts: [String], _ version: HTTPVersion = .http1_1) -> Bool {
        let headers = HTTPHeaders(hosts.map { ("Host", $0) })
        return RequestHost.isAcceptable(HTTPRequestHead(version: version, method: .GET, uri: "/", headers: headers))
    }

    @Test func aRequestNamesItsHostOnce() {
        #expect(!self.isAcceptable([]) && !self.isAcceptable(["a", "a"]) && !self.isAcceptable(["a", "b"]))
        #expect(self.isAcceptable([], .http1_0) && !self.isAcceptable(["a", "b"], .http1_0))
    }

    @Test(arguments: ["x", "127.0.0.1:8080", "tracks.example.org", "[::1]:8080", "[::1]", "a_b.local:80", "", "a:"])
    func hostsAreAccepted(host: String) {
        #expect(self.isAcceptable([host]))
    }

    @Test(arguments: [
        "a b", "a/b", "a@b", "a,b c", "a:b", "a:80:80", "[::1", "[]", "[x]", "::1", "a:123456", "é", "a?b",
    ])
    func otherTextsAreRefused(host: String) {
        #expect(!self.isAcceptable([host]))
    }

    @Test func anOriginIsOwnByTheAddressOrTheHost() throws {
        let own = try #require(PageOrigin("https://Tracks.example.org"))
        #expect(own.isOwn(url: "https://tracks.example.org/map", host: nil))
        #expect(own.isOwn(url: nil, host: "tracks.example.org") && own.isOwn(url: nil, host: "tracks.example.org:443"))
        #expect(!own.isOwn(url: nil, host: "evil.example.org") && !own.isOwn(url: nil, host: nil))
        #expect(!own.isOwn(url: "http://tracks.example.org", host: nil), "another scheme")
        let local = try #require(PageOrigin("http://127.0.0.1:8080"))
        #expect(local.isOwn(url: "https://tracks.example.org", host: "127.0.0.1:8080"))
        #expect(!local.isOwn(url: nil, host: "127.0.0.1:9090"))
        for text in ["null", "", "ftp://a", "https://", "tracks.example.org"] { #expect(PageOrigin(text) == nil) }
    }
}
