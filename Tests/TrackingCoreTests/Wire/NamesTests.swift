import Testing
import TrackingCore

/// What makes two names the same.
@Suite struct NamesTests {
    /// An é of one character and of two, which Swift's `String` holds to be the same.
    private let texts = ["caf\u{E9}", "cafe\u{301}"]

    @Test func trackablesAreToldApartByTheirBytes() throws {
        let ids = try self.texts.map { try TrackableID($0) }
        #expect(ids[0] != ids[1] && Set(ids).count == 2)
        #expect(ids.map(\.topicLevel) == ["caf=C3=A9", "cafe=CC=81"])
        #expect(ids[1] < ids[0] && !(ids[0] < ids[1]), "in the order of the stores")
    }

    @Test func streamsAndSessionsAreToldApartByTheirBytes() throws {
        let streams = self.texts.compactMap { StreamID($0) }
        #expect(streams[0] != streams[1] && Set(streams).count == 2 && streams[1] < streams[0])
        let sessions = self.texts.compactMap { SessionID($0) }
        #expect(sessions[0] != sessions[1] && Set(sessions).count == 2 && sessions[1] < sessions[0])
    }
}
