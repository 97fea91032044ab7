import Testing
import TrackingCore

/// A trackable that another publisher takes over, as a subscriber sees it.
@Suite struct OwnerChangeTests {
    private func online(_ client: String, _ session: String, in talk: inout SubscriberConversation) -> [String] {
        talk.hear(
            "_clients/\(client)", #"{"status":"online","session":"\#(session)","connection":0,"lease":90}"#,
            retained: true)
    }

    /// A subscriber that was not connected while `d2`, stream `two`, came, and has heard what the broker keeps of it but for
    /// its liveness.
    private func back() throws -> SubscriberConversation {
        var talk = try SubscriberConversation.online()
        #expect(try talk.update(1) == ["van at 1"])
        _ = talk.lose()
        _ = talk.connect(1)
        _ = talk.publisher("d2", "b", since: 600, stream: "two", retained: true)
        #expect(try talk.update(7, of: "two", skipped: [6], retained: true) == [])
        _ = talk.granted()
        return talk
    }

    /// The broker tells the last position before it is known whose it is.
    @Test func whatIsKeptOfWhoCameMeanwhileIsToldOnceThatOneIsThere() throws {
        var talk = try self.back()
        #expect(self.online("d2", "b", in: &talk).contains("van at 7 skipped 6 kept"))
        #expect(try talk.update(7, of: "two") == [], "it is known")
        #expect(try talk.update(8, of: "two") == ["van at 8"])
    }

    @Test func whatIsKeptOfWhoCameAndWentIsToldOnceNobodyIsThere() throws {
        var talk = try self.back()
        #expect(talk.hear("_clients/d1", "").contains("van at 7 skipped 6 kept"))
    }

    @Test func whatIsClearedMeanwhileIsNotTold() throws {
        var talk = try self.back()
        _ = talk.hear("van", "")
        #expect(!self.online("d2", "b", in: &talk).contains { $0.hasPrefix("van at") })
    }

    @Test func whatIsKeptOfOthersIsForgottenWithTheConnection() throws {
        var talk = try self.back()
        _ = talk.lose()
        _ = talk.connect(2)
        _ = talk.granted()
        #expect(!talk.hear("_clients/d1", "").contains { $0.hasPrefix("van at") })
    }

    /// Its clock is right, and that of whoever was there in between was ahead.
    @Test func aPublisherThatTakesItBackIsCurrentWhateverTheTimes() throws {
        var talk = try SubscriberConversation.online()
        #expect(try talk.update(1) == ["van at 1"])
        _ = talk.publisher("d2", "b", since: 600, stream: "two")
        #expect(try talk.update(90_000, of: "two") == ["van at 90000"])
        _ = talk.publisher("d1", "c", since: 700, stream: "one")
        #expect(try talk.update(2) == ["van at 2"])
        #expect(try talk.update(3) == ["van at 3"])
    }
}
