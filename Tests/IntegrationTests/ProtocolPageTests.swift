import Foundation
import Testing
import TrackingCore

/// Compares the table of topics in docs/reference/protocol.md with the code's one enumeration of topics.
@Suite struct ProtocolPageTests {
    private static let topics: [Topic] = {
        let (id, client) = (try! TrackableID("ID"), try! ClientID("CLIENT"))  // both are plain letters
        return [
            .location(id), .enhanced(id), .journey(id), .estimate(id), .raw(id), .history(id), .publisher(id, client),
            .subscriber(id, client), .request(id, client), .resolution(id), .trip(id), .event(id), .ack(id, client),
            .command(id),
            .answer(id, client),
            .liveness(client),
        ]
    }()

    @Test func theTableNamesExactlyTheTopicsOfTheCode() throws {
        let page = try String(contentsOf: Programs.root.appending(path: "docs/reference/protocol.md"), encoding: .utf8)
        var rows: [String: Bool] = [:]
        for line in page.split(separator: "\n") where line.hasPrefix("| `tracking/") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let topic = cells[0].replacing("`", with: "").replacing("{id}", with: "ID")
                .replacing("{client}", with: "CLIENT").replacing("{recorder}", with: "CLIENT")
            rows[topic] = cells[2] == "R"
        }
        let code = Self.topics.map { (TopicRoot.standard.path($0), $0.isRetained) }
        #expect(rows == Dictionary(uniqueKeysWithValues: code))
    }
}
