import GodwitOptions
import Testing
import TrackingCore
import TrackingSubscriber

@testable import godwit

/// The live table on terminals of every size, and with names of every script.
@Suite struct LiveTableWidthTests {
    private let now = UnixTime(1_000_000_000)

    private func update(_ time: Double) throws -> ReceivedUpdate {
        let location = Location(coordinate: try #require(Coordinate(latitude: 0, longitude: 1)), time: UnixTime(time))
        return ReceivedUpdate(update: LocationUpdate(location: location), skipped: [], isLate: false, isRetained: true)
    }

    @Test(arguments: [1, 2, 9, 40, 80, 300]) func aWideNameKeepsItsRowOnOneLine(width: Int) throws {
        var table = LiveTable(hasColour: false)
        table.happened(.state(try TrackableID(String(repeating: "車", count: 40)), .online, nil))
        table.happened(.state(try TrackableID("bus"), .online, nil))
        table.logged = (1, String(repeating: "車", count: 200))
        let lines = table.lines(width: width, height: 30, now: self.now) { _ in nil }
        #expect(lines.allSatisfy { $0.columns <= width })
        guard width >= 40 else { return }
        let name = width < 300 ? "車… " : String(repeating: "車", count: 40)
        #expect(lines[2].contains(name) && lines[2].contains(" ONLINE"))
        #expect(lines[1].hasPrefix("bus ") && lines[1].contains(" ONLINE"))
    }

    @Test(arguments: [
        (7.0, "7 s"), (99, "99 s"), (100, "2 min"), (5_999, "100 min"), (6_000, "2 h"), (172_799, "48 h"),
        (172_800, "2 d"), (31_554_703, "365 d"), (-5, "0 s"),
    ])
    func anAgeIsAShortNumberAndNeverCut(age: Double, text: String) throws {
        var table = LiveTable(hasColour: false)
        table.happened(.location(try TrackableID("van"), try self.update(self.now.seconds - age)))
        for width in [80, 200] {
            let lines = table.lines(width: width, height: 30, now: self.now) { _ in nil }
            #expect(lines[1].contains(" \(text) "))
        }
    }

    @Test func aClearedTrackableIsNotShownAsNeverReceived() throws {
        let van = try TrackableID("van")
        var table = LiveTable(hasColour: false)
        for event in [SubscriberEvent.silent(van), .location(van, try self.update(1)), .locationCleared(van)] {
            table.happened(event)
        }
        #expect(!table.lines(width: 200, height: 30, now: self.now) { _ in nil }[1].contains("nothing received"))
    }

    @Test func aNameCannotTurnTheLineRound() throws {
        var table = LiveTable(hasColour: false)
        table.happened(.state(try TrackableID("a\u{202E}b"), .online, nil))
        #expect(table.lines(width: 200, height: 30, now: self.now) { _ in nil }[1].hasPrefix(#"a\u202eb"#))
    }
}
