import Foundation
import Testing

@testable import GodwitOptions

/// The keys that docs/reference/configuration.md lists for an entry of `trackables:`.
@Suite struct ConfigurationPageTests {
    @Test func theKeysOfATrackableAreThoseOfThePage() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/reference/configuration.md"), encoding: .utf8)
        let list = page.components(separatedBy: "The keys of an entry are ")[1].components(separatedBy: ";")[0]
        let keys = list.matches(of: #/`([a-z-]+)`/#).map { String($0.1) }
        #expect(Set(keys) == TrackableSettings.keys)
        #expect(keys.count == Set(keys).count)
    }
}
