import Foundation
import Testing

@testable import TrackingGateway

/// The files that are compiled into the program.
@Suite struct PageFileTests {
    @Test func theProgramHasEveryFileOfThePageAndTheDescriptionOfTheAPI() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let sources = root.appending(path: "Sources/TrackingGateway")
        let page = try FileManager.default.contentsOfDirectory(atPath: sources.appending(path: "Page").path())
        #expect(Set(PageFile.all.keys) == Set(page + ["openapi.json"]))
        for (name, content) in PageFile.all {
            let path = name == "openapi.json" ? "Routes/openapi.json" : "Page/\(name)"
            #expect(try Data(contentsOf: sources.appending(path: path)) == Data(content), "\(name)")
        }
    }
}
