import Testing
import TrackingCore

/// The equality of names.
@Suite struct NamesTests {
    /// The letter é as one and as two code points. Swift's `String` considers them equal.
    private let texts = ["caf\u{E9}", "cafe\u{301}"]

    @Test func trackablesDifferByTheirBytes() throws {
        let ids = try self.texts.map { try TrackableID($0) }
        #expect(ids[0] != ids[1] && Set(ids).count == 2)
        #expect(ids.map(\.topicLevel) == ["caf=C3=A9", "cafe=CC=81"])
        #expect(ids[1] < ids[0] && !(ids[0] < ids[1]), "in the order of the stores")
    }

    @Test func streamsAndSessionsDifferByTheirBytes() throws {
        let streams = self.texts.compactMap { StreamID($0) }
        #expect(streams[0] != streams[1] && Set(streams).count == 2 && streams[1] < streams[0])
        let sessions = self.texts.compactMap { SessionID($0) }
        #expect(sessions[0] != sessions[1] && Set(sessions).count == 2 && sessions[1] < sessions[0])
    }
}
