import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for the ownership of a trackable after an outage, and for the other publisher's messages
/// (docs/reference/protocol.md, "Ownership").
@Suite struct OwnershipTests {
    private let alive = #"{"status":"online","session":"other","connection":0,"lease":90}"#

    /// A publisher that lost its connection, and another one that has tracked the van since a later time; its
    /// presence is retained.
    private func overtaken() throws -> PublisherConversation {
        var talk = try PublisherConversation.online()
        _ = talk.lose()
        _ = try talk.fix(at: 20)
        _ = talk.connect(1)
        _ = talk.publisher("d2", "other", since: 2000, retained: true)
        return talk
    }

    @Test func whoMayHaveBeenOvertakenAsksWhetherTheOtherLivesBeforeItSaysAnything() throws {
        var talk = try self.overtaken()
        let settled = talk.settled()
        #expect(settled.last == "subscribe _clients/d1")
        #expect(!settled.contains { $0.hasPrefix("van") && $0.contains(": ") }, "\(settled)")
        let received = talk.receive("tracking/_clients/d2", self.alive, retained: true)
        #expect(received.contains("van is FAILED (takenOver)"))
        let rest = talk.granted() + talk.acked() + talk.wait(.seconds(10))
        #expect(!rest.contains { $0.hasPrefix("van: ") || $0.hasPrefix("van/resolution") }, "\(rest)")
    }

    @Test func whatADeadOneLeftStandingCostsOneQuestion() throws {
        var talk = try self.overtaken()
        _ = talk.settled()
        let said = talk.granted()
        #expect(said.contains("van/publisher/d1: present mine/1 since 1000.0"))
        #expect(said.contains("van: update 2"))
    }

    @Test(arguments: ["arrives", "connects again", "leaves"])
    func theOwnerSaysOverWhatAnEarlierOneMayHaveSaid(what: String) throws {
        var talk = try PublisherConversation.online()
        if what != "arrives" {
            _ = talk.publisher("d2", "other", since: 999)
            #expect(talk.wait(.seconds(1)).contains("van: update 1"))
            _ = talk.acked()
        }
        switch what {
        case "arrives": _ = talk.publisher("d2", "other", since: 999)
        case "leaves": _ = talk.receive("tracking/van/publisher/d2", "")
        default:
            _ = talk.receive(
                "tracking/van/publisher/d2",
                #"{"type":"PUBLISHER","session":"other","connection":1,"lease":90,"since":999}"#)
        }
        let said = talk.wait(.seconds(1))
        #expect(said.contains("van/resolution: BALANCED/10000/0 ONLINE subscribers 0"))
        #expect(said.contains("van: update 1"))
    }

    /// Trackables to which members arrive within a second are announced together, behind one liveness.
    @Test func trackablesAreAnnouncedTogether() throws {
        var talk = try PublisherConversation.online()
        _ = talk.happened(.add(Trackable(try TrackableID("car"))))
        _ = talk.granted() + talk.acked() + talk.wait(.seconds(2)) + talk.acked()
        let presence = #"{"type":"SUBSCRIBER","session":"s","connection":0,"lease":90,"since":1}"#
        for name in ["van", "car"] { _ = talk.receive("tracking/\(name)/subscriber/w1", presence) }
        let said = talk.wait(.seconds(1))
        #expect(said.filter { $0 == "_clients/d1: online mine/0" }.count == 1, "\(said)")
        for name in ["van", "car"] {
            #expect(said.contains { $0.hasPrefix("\(name)/publisher/d1: present mine/0") }, "\(said)")
        }
    }

    @Test func switchingOffCancelsTheAnnouncement() throws {
        var talk = try PublisherConversation.online()
        _ = talk.subscriber("w1")
        var configuration = talk.machine.configuration
        configuration.isOn = false
        _ = talk.happened(.configure(configuration))
        configuration.isOn = true
        #expect(talk.happened(.configure(configuration)).contains { $0.hasPrefix("van/publisher/d1: present") })
        #expect(!talk.wait(.seconds(1)).contains { $0.hasPrefix("van/publisher/d1") })
    }

    // MARK: - What was let go

    private func removedWhileAway() throws -> PublisherConversation {
        var talk = try PublisherConversation.online()
        _ = talk.lose()
        _ = talk.happened(.remove(try TrackableID("van")))
        #expect(talk.connect(1)[1] == "subscribe van/publisher/+ _clients/d1")
        return talk
    }

    @Test func theResolutionOfWhoTookItOverIsNotCleared() throws {
        var talk = try self.removedWhileAway()
        _ = talk.publisher("d2", "other", since: 2000, retained: true)
        let said = talk.granted()
        #expect(said.filter { $0.hasSuffix("cleared") } == ["van/publisher/d1: cleared"])
        #expect(said.contains("unsubscribe van/publisher/+"))
    }

    @Test func whereNobodyTookItOverItIsCleared() throws {
        var talk = try self.removedWhileAway()
        let said = talk.granted().filter { $0.hasSuffix("cleared") }
        #expect(said == ["van/publisher/d1: cleared", "van/resolution: cleared"])
    }

    @Test func theResolutionIsLeftToAPresentPublisher() throws {
        var talk = try PublisherConversation.online()
        _ = talk.publisher("d2", "other", since: 999, retained: true)
        let said = talk.happened(.remove(try TrackableID("van")))
        #expect(said.filter { $0.hasSuffix("cleared") } == ["van/publisher/d1: cleared"])
    }

    // MARK: - Requests over an outage

    /// `w1` made a request; the connection was lost and made again.
    private func asked() throws -> PublisherConversation {
        var talk = try PublisherConversation.online()
        _ = talk.subscriber("w1")
        _ = talk.request("w1", interval: 500)
        _ = talk.lose()
        _ = talk.connect(1)
        _ = talk.granted()
        _ = talk.echoed()
        return talk
    }

    /// The subscriber stays present, and its request is cleared at the broker without a message.
    @Test func aRequestThatIsNotReceivedAgainIsDropped() throws {
        var talk = try self.asked()
        var said: [String] = []
        for _ in 0..<3 {
            _ = talk.subscriber("w1")
            said += talk.wait(.seconds(30))
        }
        #expect(said.contains { $0.hasPrefix("van/resolution: BALANCED") && $0.hasSuffix("subscribers 1") }, "\(said)")
    }

    @Test func aRequestThatIsReceivedAgainRemains() throws {
        var talk = try self.asked()
        _ = talk.request("w1", interval: 500)
        var said: [String] = []
        for _ in 0..<6 {
            _ = talk.subscriber("w1")
            said += talk.wait(.seconds(30))
        }
        #expect(!said.contains { $0.hasPrefix("tell van BALANCED") }, "\(said)")
    }
}
