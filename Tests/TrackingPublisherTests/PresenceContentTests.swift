import Testing
import TrackingCore

@testable import TrackingPublisher

/// The content of a publisher's presence: the metadata of the trackable, and the note that no resolution is published.
@Suite struct PresenceContentTests {
    private func presence(_ talk: PublisherConversation) throws -> Presence {
        try MessageCodec.decodePresence(try #require(talk.said["tracking/van/publisher/d1"]), expecting: .publisher)
    }

    @Test func metadataIsPublishedAndChanged() throws {
        var talk = try PublisherConversation.online(try PublisherConversation.van { $0.metadata = "bike" })
        #expect(try self.presence(talk).metadata == "bike")
        #expect(talk.happened(.change(try PublisherConversation.van { $0.metadata = "bike" })) == [])
        let said = talk.happened(.change(try PublisherConversation.van { $0.metadata = "trike" }))
        #expect(said.contains { $0.hasPrefix("van/publisher/d1: present") })
        #expect(try self.presence(talk).metadata == "trike")
        _ = talk.happened(.change(try PublisherConversation.van()))
        #expect(try self.presence(talk).metadata == nil)
    }

    @Test func metadataThatChangesWithoutAConnectionComesWithTheNextOne() throws {
        var talk = try PublisherConversation.online(try PublisherConversation.van { $0.metadata = "bike" })
        _ = talk.lose()
        let said = talk.happened(.change(try PublisherConversation.van { $0.metadata = "trike" }))
        #expect(!said.contains { $0.hasPrefix("van/publisher/d1") })
        _ = talk.connect(1)
        _ = talk.granted()
        #expect(try self.presence(talk).metadata == "trike")
    }

    @Test func metadataThatReadersRejectIsNotPublished() throws {
        let text = String(repeating: "x", count: WireLimits.maximumMetadataBytes + 1)
        let talk = try PublisherConversation.online(try PublisherConversation.van { $0.metadata = text })
        #expect(try self.presence(talk).metadata == nil)
    }

    // MARK: - Resolution

    @Test func theResolutionIsNotPublished() throws {
        var talk = try PublisherConversation.online { $0.sendsResolution = false }
        #expect(try self.presence(talk).sendsResolution == false)
        #expect(talk.said["tracking/van/resolution"] == [])
        #expect(talk.machine.readiness.isReadyForFix)
        // A request takes effect all the same, and is delivered to the caller.
        _ = talk.subscriber("w1")
        let said = talk.request("w1", interval: 1_000) + talk.wait(.seconds(2))
        #expect(!said.contains { $0.hasPrefix("van/resolution") })
        #expect(said.contains { $0.contains("HIGH/1000") })
    }

    @Test func theResolutionIsClearedAndPublishedAgain() throws {
        var talk = try PublisherConversation.online()
        #expect(talk.said["tracking/van/resolution"]?.isEmpty == false)
        var configuration = talk.machine.configuration
        configuration.sendsResolution = false
        let hidden = talk.happened(.configure(configuration))
        #expect(hidden.contains("van/resolution: cleared"))
        #expect(try self.presence(talk).sendsResolution == false)
        configuration.sendsResolution = true
        let shown = talk.happened(.configure(configuration)) + talk.wait(.seconds(2))
        #expect(shown.contains { $0.hasPrefix("van/resolution: BALANCED") })
        #expect(try self.presence(talk).sendsResolution == nil)
    }

    // MARK: - Will

    @Test func theWillHasTheTimeForWhichThePublisherRemainsPresent() throws {
        var configuration = PublisherConfiguration(client: try ClientID("d1"), session: try #require(SessionID("mine")))
        #expect(try MessageCodec.decodeLiveness(configuration.will(connection: 2).payload).remainsPresentFor == nil)
        configuration.remainsPresentFor = .seconds(15)
        let will = configuration.will(connection: 2)
        #expect(String(decoding: will.payload, as: UTF8.self).hasSuffix(#""connection":2,"remain":15}"#))
        // It cannot change while the publisher runs, because the broker already has the will.
        var next = configuration
        next.remainsPresentFor = nil
        #expect(next.withIdentity(of: configuration).remainsPresentFor == .seconds(15))
    }
}
