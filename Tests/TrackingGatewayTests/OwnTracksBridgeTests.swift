import Foundation
import Testing
import TrackingCore
import TrackingPublisher

@testable import TrackingGateway

@Suite struct OwnTracksReaderTests {
    private func configuration(_ root: String = "owntracks") throws -> OwnTracksReader.Configuration {
        OwnTracksReader.Configuration(topics: try OwnTracksTopics(root: root))
    }

    private func message(_ topic: String, _ payload: [UInt8], isRetained: Bool = false) -> IncomingMessage {
        IncomingMessage(topic: topic, payload: payload[...], isRetained: isRetained)
    }

    private let location = Array(
        #"{"_type":"location","lat":52.1,"lon":-8.5,"tst":1790000000,"acc":13,"vel":36,"_id":"5e13f79e"}"#.utf8)

    private func batch(
        _ message: IncomingMessage, _ configuration: OwnTracksReader.Configuration
    ) throws -> (id: TrackableID, batch: PhoneBatch) {
        let reading = OwnTracksReader(configuration).read(message, receivedAt: UnixTime(1_790_000_100))
        guard case .batch(let id, let batch) = reading else {
            Issue.record("\(reading)")
            throw TrackingError(.invalidPayload, "no batch")
        }
        return (id, batch)
    }

    @Test func aLocationIsAPointOfUserAndDevice() throws {
        let (id, batch) = try self.batch(self.message("owntracks/jane/phone", self.location), self.configuration())
        #expect(id == (try TrackableID("jane-phone")))
        let point = try #require(batch.points.first)
        #expect(point.coordinate == Coordinate(latitude: 52.1, longitude: -8.5) && point.speed == 10)
        #expect(batch.records.count == 1 && batch.refused.isEmpty)
    }

    @Test func theFileOfDevicesChooses() throws {
        var configuration = try self.configuration("acme/owntracks")
        configuration.trackables["jane/phone"] = try TrackableID("bike")
        #expect(
            try self.batch(self.message("acme/owntracks/jane/phone", self.location), configuration).id.rawValue
                == "bike")
    }

    @Test func aTransitionIsAnEvent() throws {
        let payload = #"{"_type":"transition","event":"enter","desc":"Home","tst":1790000000,"acc":5}"#
        let (_, batch) = try self.batch(
            self.message("owntracks/jane/phone/event", Array(payload.utf8)), self.configuration())
        #expect(batch.events.map(\.kind) == ["ZONE"])
    }

    @Test func encryptedMessagesAreOpenedWithTheTrackablesKey() throws {
        var configuration = try self.configuration()
        let body = try clientFixture("owntracks-encrypted.json")
        let topic = "owntracks/jane/phone"
        #expect(try self.batch(self.message(topic, body), configuration).batch.refused.count == 1)
        configuration.secrets[try TrackableID("jane-phone")] = OwnTracksSecret(passphrase: "harbour lights")
        #expect(try self.batch(self.message(topic, body), configuration).batch.points.count == 1)
    }

    @Test func aMessageThatIsNotJSONIsQuarantined() throws {
        let (_, batch) = try self.batch(
            self.message("owntracks/jane/phone", Array("{\"_type".utf8)), self.configuration())
        #expect(batch.records.isEmpty && batch.refused.first?.bytes == Array("{\"_type".utf8))
    }

    @Test func replayedAndClearedMessagesAreIgnored() throws {
        var configuration = try self.configuration()
        configuration.outUser = "godwit"
        let reader = OwnTracksReader(configuration)
        let marked = Array(#"{"_type":"location","_via":"godwit","lat":1,"lon":1,"tst":1790000000}"#.utf8)
        let cases: [(IncomingMessage, OwnTracksReader.Reason)] = [
            (self.message("owntracks/jane/phone", self.location, isRetained: true), .replayed),
            (self.message("owntracks/jane/phone", []), .cleared),
            (self.message("owntracks/jane/phone", marked), .ownPosition),
            (self.message("owntracks/godwit/van", self.location), .ownPosition),
            (self.message("owntracks/jane/phone/cmd", self.location), .otherTopic),
            (self.message("owntracks/jane", self.location), .otherTopic),
            (self.message("owntracks//phone", self.location), .otherTopic),
            (self.message("elsewhere/jane/phone", self.location), .otherTopic),
            (self.message("owntracks/jane/phone/event/more", self.location), .otherTopic),
        ]
        for (message, reason) in cases {
            #expect(reader.read(message, receivedAt: UnixTime(1)) == .ignored(reason), "\(message.topic)")
        }
    }

    @Test func namesThatAreNoTrackableAreRefused() throws {
        let reader = OwnTracksReader(try self.configuration())
        let long = String(repeating: "x", count: 128)
        let reading = reader.read(self.message("owntracks/jane/\(long)", self.location), receivedAt: UnixTime(1))
        guard case .refused(let error) = reading else {
            Issue.record("\(reading)")
            return
        }
        #expect(error.code == .invalidName)
    }

    @Test(arguments: ["", "a//b", "a/b/c/d/e", "own+", "#", "$share/x", "/owntracks"])
    func aRootIsPlainLevels(root: String) {
        #expect(throws: TrackingError.self) { try OwnTracksTopics(root: root) }
    }
}

@Suite struct OwnTracksRepublisherTests {
    private let van = try! TrackableID("van")
    private let stream = StreamID("k3f9q2wz")!

    private func machine(
        out: String? = "godwit", name: String = "bridge-out", discovery: Bool = false, maximum: Int = 10
    ) throws -> OwnTracksRepublisher {
        var reader = OwnTracksReader.Configuration(topics: try OwnTracksTopics())
        reader.outUser = out
        var configuration = OwnTracksRepublisher.Configuration(reader: reader, name: name)
        configuration.maximumTrackables = maximum
        if discovery { configuration.discovery = HomeAssistantDiscovery(topicRoot: .standard) }
        var machine = OwnTracksRepublisher(configuration)
        _ = machine.happened(.connected(connection: 0, sessionPresent: false))
        return machine
    }

    private func position(
        _ seq: UInt64, of id: String = "van", kind: LocationUpdate.Kind = .actual, isRetained: Bool = false
    ) throws -> TransportEvent {
        let place = try #require(Coordinate(latitude: 52, longitude: -8.5))
        var location = Location(coordinate: place, time: UnixTime(1_790_000_000.75 + Double(seq)))
        (location.seq, location.stream) = (seq, self.stream)
        (location.speed, location.batteryLevel, location.accuracyHorizontal) = (10, 0.62, 4.2)
        let payload = try LocationCodec.encode(LocationUpdate(location: location, kind: kind))
        let topic = TopicRoot.standard.path(.location(try TrackableID(id)))
        return .received(IncomingMessage(topic: topic, payload: payload[...], isRetained: isRetained))
    }

    private func published(_ actions: [OwnTracksRepublisher.Action]) -> [OutgoingMessage] {
        actions.flatMap { action -> [TransportCommand] in
            if case .send(let commands) = action { commands } else { [] }
        }.compactMap { if case .publish(let message, _) = $0 { message } else { nil } }
    }

    private func receive(_ topic: String) -> TransportEvent {
        .received(IncomingMessage(topic: topic, payload: Array("{}".utf8)[...], isRetained: true))
    }

    /// OwnTracks allows 0 to 359.
    @Test(arguments: [(359.6, 0.0), (359.4, 359), (0.2, 0)]) func theCourseIsBelow360(bearing: Double, cog: Double)
        throws
    {
        var location = Location(coordinate: try #require(Coordinate(latitude: 52, longitude: -8)), time: UnixTime(1))
        location.bearing = bearing
        #expect(location.ownTracksMessage(of: self.van, by: "bridge-out")["cog"]?.number == cog)
    }

    @Test func aPositionGoesOutMarkedAndRetained() throws {
        var machine = try self.machine()
        let message = try #require(self.published(machine.happened(try self.position(1))).first)
        #expect(message.topic == "owntracks/godwit/van" && message.isRetained)
        #expect(
            String(decoding: message.payload, as: UTF8.self)
                == #"{"_by":"bridge-out","_type":"location","_via":"godwit","acc":5,"batt":62,"lat":52,"lon":-8.5,"#
                + #""tid":"an","tst":1790000001,"vel":36}"#)
        // A reader recognizes it as this bridge's own message on any topic.
        let reader = OwnTracksReader(OwnTracksReader.Configuration(topics: try OwnTracksTopics()))
        let back = IncomingMessage(topic: message.topic, payload: message.payload[...], isRetained: false)
        #expect(reader.read(back, receivedAt: UnixTime(1)) == .ignored(.ownPosition))
    }

    @Test func onlyTheNewestPositionGoesOut() throws {
        var machine = try self.machine()
        #expect(self.published(machine.happened(try self.position(5))).count == 1)
        _ = machine.happened(.published(1, refusal: nil))
        #expect(machine.happened(try self.position(5)).isEmpty, "twice")
        #expect(machine.happened(try self.position(4)).isEmpty, "late")
        #expect(machine.happened(try self.position(6, kind: .predicted)).isEmpty, "predicted")
        #expect(self.published(machine.happened(try self.position(7))).count == 1)
        // While that position is being sent, only the last one behind it is kept.
        #expect(machine.happened(try self.position(8)).isEmpty)
        #expect(machine.happened(try self.position(9)).isEmpty)
        let next = self.published(machine.happened(.published(2, refusal: nil)))
        #expect(next.count == 1 && String(decoding: next[0].payload, as: UTF8.self).contains("1790000009"))
    }

    @Test func aDeviceThatIsThereItselfIsNotRepublished() throws {
        var machine = try self.machine()
        #expect(machine.happened(self.receive("owntracks/jane/phone")).isEmpty)
        #expect(machine.happened(self.receive("owntracks/godwit/van")).isEmpty, "ours")
        #expect(machine.happened(try self.position(1, of: "jane-phone")).isEmpty)
        #expect(self.published(machine.happened(try self.position(1))).count == 1)
    }

    @Test func aBridgedMessageIsClearedWhenTheDevicePublishesItself() throws {
        var machine = try self.machine()
        #expect(self.published(machine.happened(try self.position(1, of: "jane-phone"))).count == 1)
        _ = machine.happened(.published(1, refusal: nil))
        let cleared = self.published(machine.happened(self.receive("owntracks/jane/phone")))
        #expect(cleared == [OutgoingMessage(topic: "owntracks/godwit/jane-phone", payload: [], isRetained: true)])
        #expect(machine.happened(self.receive("owntracks/jane/phone")).isEmpty, "once")
        #expect(machine.happened(try self.position(2, of: "jane-phone")).isEmpty)
    }

    @Test(arguments: [false, true]) func messagesFromBeforeARestartAreClearedToo(oursFirst: Bool) throws {
        var machine = try self.machine()
        let topics = ["owntracks/jane/phone", "owntracks/godwit/jane-phone"]
        let messages = (oursFirst ? topics.reversed() : topics).flatMap {
            self.published(machine.happened(self.receive($0)))
        }
        #expect(messages == [OutgoingMessage(topic: topics[1], payload: [], isRetained: true)])
    }

    @Test func messagesUnderAnotherUserAreCleared() throws {
        var machine = try self.machine(out: "bob")
        let ours = try #require(self.published(machine.happened(try self.position(1))).first).payload
        func receive(_ payload: [UInt8]? = nil, isRetained: Bool) -> [OutgoingMessage] {
            let payload = payload ?? ours
            let message = IncomingMessage(topic: "owntracks/alice/van", payload: payload[...], isRetained: isRetained)
            return self.published(machine.happened(.received(message)))
        }
        // The messages of another bridge on the same topics are not cleared.
        var other = try self.machine(out: "alice", name: "other-out")
        let theirs = try #require(self.published(other.happened(try self.position(1))).first).payload
        #expect(receive(theirs, isRetained: true) == [])
        // A message that is not retained belongs to an active bridge.
        #expect(receive(isRetained: false) == [])
        #expect(
            receive(isRetained: true) == [OutgoingMessage(topic: "owntracks/alice/van", payload: [], isRetained: true)])
        let cleared = IncomingMessage(topic: "owntracks/alice/van", payload: [], isRetained: false)
        #expect(machine.happened(.received(cleared)).isEmpty)
        // The name does not denote a phone either.
        #expect(self.published(machine.happened(try self.position(1, of: "alice-van"))).count == 1)
    }

    @Test func phonesAreReceivedBeforeOurOwnMessages() throws {
        #expect(try self.machine().filters == ["owntracks/+/+", "tracking/+"])
        let discovery = "homeassistant/device_tracker/tracking/+/config"
        #expect(try self.machine(out: nil, discovery: true).filters == [discovery, "tracking/+"])
    }

    @Test func unacknowledgedMessagesAreSentOnTheNextConnection() throws {
        var machine = try self.machine()
        _ = machine.happened(try self.position(1))
        let lost = Disconnection(
            reason: TrackingError(.connectionLost, "gone"), retry: .seconds(1), lasted: .seconds(1))
        #expect(machine.happened(.disconnected(lost)).isEmpty)
        #expect(machine.happened(.published(1, refusal: nil)).isEmpty, "void")
        let actions = machine.happened(.connected(connection: 1, sessionPresent: false))
        #expect(self.published(actions).count == 1)
    }

    @Test func aRejectedPublishIsReported() throws {
        var machine = try self.machine()
        _ = machine.happened(try self.position(1))
        let error = TrackingError(.notAuthorized, "no")
        #expect(machine.happened(.published(1, refusal: error)) == [.refused(topic: "owntracks/godwit/van", error)])
        #expect(
            machine.happened(.subscribed(0, refusals: [nil, error])) == [.refused(topic: "tracking/+", error)])
    }

    @Test func homeAssistantGetsOneAnnouncementAndItsRemoval() throws {
        var machine = try self.machine(out: nil, discovery: true)
        let message = try #require(self.published(machine.happened(try self.position(1, of: "a_b/c"))).first)
        #expect(message.topic == "homeassistant/device_tracker/tracking/a_5Fb_3D2Fc/config" && message.isRetained)
        let config = try JSONValue(json: message.payload)
        #expect(config["source_type"]?.text == "gps" && config["json_attributes_topic"]?.text == "tracking/a_b=2Fc")
        #expect(config["device"]?["name"]?.text == "a_b/c" && config["state_topic"] == nil)
        #expect(String(decoding: message.payload, as: UTF8.self).hasPrefix(#"{"name":null,"#), "the device's is enough")
        _ = machine.happened(.published(1, refusal: nil))
        #expect(machine.happened(try self.position(2, of: "a_b/c")).isEmpty)
        // A restarted broker may have lost the message.
        _ = machine.happened(.disconnected(Disconnection(reason: nil, retry: .seconds(1), lasted: .zero)))
        _ = machine.happened(.connected(connection: 1, sessionPresent: false))
        let again = self.published(machine.happened(try self.position(3, of: "a_b/c")))
        #expect(again.map(\.topic) == [message.topic])
        _ = machine.happened(.published(2, refusal: nil))
        let cleared = self.published(
            machine.happened(.received(IncomingMessage(topic: "tracking/a_b=2Fc", payload: [], isRetained: false))))
        #expect(cleared.map(\.topic) == [message.topic] && cleared[0].payload.isEmpty && cleared[0].isRetained)
        #expect(self.published(machine.happened(.published(3, refusal: nil))).isEmpty)
        #expect(self.published(machine.happened(try self.position(4, of: "a_b/c"))).count == 1, "known again")
    }

    /// The trackable of an earlier run's message and announcement was erased while the bridge was away.
    @Test func whatWasErasedMeanwhileIsClearedToo() throws {
        var machine = try self.machine(discovery: true)
        let (bus, van) = ("homeassistant/device_tracker/tracking/a_5Fb_3D2Fc/config", "owntracks/godwit/van")
        let kept = [bus, bus.replacing("a_5Fb_3D2Fc", with: "van"), van, "owntracks/godwit/bike"]
        for topic in kept { #expect(machine.happened(self.receive(topic)).isEmpty) }
        _ = machine.happened(try self.position(1, isRetained: true))
        #expect(machine.receivedRetained(on: 7).isEmpty, "of another connection")
        let cleared = self.published(machine.receivedRetained(on: 0))
        let empty = { OutgoingMessage(topic: $0, payload: [], isRetained: true) }
        #expect(Set(cleared) == [empty(bus), empty("owntracks/godwit/a_b=2Fc"), empty("owntracks/godwit/bike")])
        #expect(machine.receivedRetained(on: 0).isEmpty, "once")
        // A later position is published again.
        let again = try self.position(2, of: "bike")
        // The position waits until the clearing is acknowledged.
        #expect(self.published(machine.happened(again)).count == 1)
    }

    @Test func onlyItsOwnAnnouncementsAreRead() throws {
        let discovery = HomeAssistantDiscovery(topicRoot: .standard)
        for name in ["van", "a_b/c", "käse"] {
            let id = try TrackableID(name)
            #expect(discovery.trackable(of: discovery.topic(of: id)) == id)
        }
        for topic in [
            "homeassistant/device_tracker/other/van/config", "homeassistant/device_tracker/tracking/_/config", "config",
            "tracking/van",
        ] {
            #expect(discovery.trackable(of: topic) == nil, "\(topic)")
        }
    }

    @Test func aStrangersMessagesHarmNothing() throws {
        var machine = try self.machine(maximum: 1)
        let broken = IncomingMessage(topic: "tracking/van", payload: Array("{".utf8)[...], isRetained: false)
        guard case .skipped(topic: "tracking/van", _)? = machine.happened(.received(broken)).first else {
            Issue.record("a broken message is told")
            return
        }
        _ = machine.happened(try self.position(1))
        guard case .skipped(topic: "tracking/bus", let error)? = machine.happened(try self.position(1, of: "bus")).first
        else {
            Issue.record("one too many is told")
            return
        }
        #expect(error.code == .overloaded)
    }
}
