import ArgumentParser
import Testing

@testable import godwit

/// Wrong options for phones are rejected before the gateway begins to serve.
@Suite struct PhoneOptionsTests {
    @Test(arguments: [
        ["--overland-path", "/points"], ["--overland-path", "/session/"], ["--overland-path", "overland"],
        ["--agent-broker", "http://broker.example"], ["--agent-broker", "mqtt://"],
        ["--agent-broker", "mqtts://me:secret@broker.example"],
    ])
    func wrongOptionsAreRejected(_ arguments: [String]) throws {
        let error = #expect(throws: (any Error).self) { try Serve.parse(arguments) }
        #expect(!"\(error.map { Serve.message(for: $0) } ?? "")".contains("secret"))
    }

    @Test func theSamePathTwiceIsOne() throws {
        let paths = ["/overland/", "/api/locations", "/api//locations"]
        #expect(throws: Never.self) { try Serve.parse(paths.flatMap { ["--overland-path", $0] }) }
    }
}
