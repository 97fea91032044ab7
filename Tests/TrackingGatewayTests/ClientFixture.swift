import Foundation
import TrackingCore
import TrackingPublisher

@testable import TrackingGateway

/// Returns the bytes of a real client's request from `Tests/Fixtures/Clients`.
func clientFixture(_ name: String) throws -> [UInt8] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return Array(try Data(contentsOf: folder.appending(path: "Fixtures/Clients/\(name)")))
}

/// The first time in the fixtures: 2026-05-01T12:00:00Z.
let noon = 1_777_636_800.0

extension PhoneBatch {
    var points: [Location] {
        self.records.compactMap { if case .point(let location) = $0.content { location } else { nil } }
    }
    var events: [(kind: String, detail: [String: JSONValue], time: Double, location: Location?)] {
        self.records.compactMap {
            guard case .event(let event) = $0.content else { return nil }
            return (event.kind.rawValue, event.detail, event.time.seconds, event.location)
        }
    }
    var trips: [Trip] { self.records.compactMap { if case .trip(let trip) = $0.content { trip } else { nil } } }
}

extension Location {
    var extraMembers: [String: JSONValue] { self.extra.flatMap { try? JSONValue(json: $0) }?.object ?? [:] }
}
