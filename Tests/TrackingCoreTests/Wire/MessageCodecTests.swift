import Testing
import TrackingCore

/// Presence, liveness, requests, the resolution in force and events.
@Suite struct MessageCodecTests {
    @Test func everyMessageReadsBackAsItWas() throws {
        var generator = WireGenerator(seed: 6)
        for _ in 0..<500 {
            let presence = generator.presence()
            #expect(
                try MessageCodec.decodePresence(MessageCodec.encode(presence), expecting: presence.kind) == presence)
            let liveness = generator.liveness()
            #expect(try MessageCodec.decodeLiveness(MessageCodec.encode(liveness)) == liveness)
            let request = ResolutionRequest(session: generator.session(), resolution: generator.resolution())
            #expect(try MessageCodec.decodeRequest(MessageCodec.encode(request)) == request)
            let resolution = generator.resolutionInForce()
            #expect(try MessageCodec.decodeResolution(MessageCodec.encode(resolution)) == resolution)
            let event = generator.event()
            #expect(try MessageCodec.decodeEvent(MessageCodec.encode(event)) == event)
        }
    }

    @Test(arguments: [
        ("type", "null", "type is missing"),
        ("type", "7", "type must be a string; found a number"),
        ("type", #""WATCHER""#, "type must be one of PUBLISHER, SUBSCRIBER; found another string"),
        ("session", #""""#, "session must be a string of 1 to 64 bytes; found another string"),
        ("session", "{}", "session must be a string; found an object"),
        ("connection", "-1", "connection must be a whole number from 0 to 9007199254740991; found another number"),
        ("connection", "1.5", "connection must be a whole number from 0 to 9007199254740991; found another number"),
        ("lease", "0", "lease must be a number of seconds from 1 to 86400; found a number out of range"),
        ("lease", "86401", "lease must be a number of seconds from 1 to 86400; found a number out of range"),
        ("since", #""now""#, "since must be Unix time in seconds; found a string"),
        ("stream", "[]", "stream must be a string; found an array"),
        ("rawLocations", "1", "rawLocations must be true or false; found a number"),
        ("metadata", #""""#, "metadata must be \(WireLimits.metadataRule); found another string"),
        ("metadata", #""a\u000ab""#, "metadata must be \(WireLimits.metadataRule); found another string"),
        (
            "metadata", "\"\(String(repeating: "é", count: 513))\"",
            "metadata must be \(WireLimits.metadataRule); found another string"
        ),
        ("sendsResolution", "0", "sendsResolution must be true or false; found a number"),
    ])
    func refusesABadPresence(name: String, value: String, message: String) {
        let text =
            #"{"type":"PUBLISHER","session":"s","connection":0,"lease":90,"since":1,"stream":"t","\#(name)":\#(value)}"#
        expectRefused(message) { () throws(TrackingError) in try MessageCodec.decodePresence(text.payload) }
    }

    @Test func metadataThatReadersRejectIsLeftOut() throws {
        var presence = Presence(
            kind: .publisher, session: try #require(SessionID("s")), connection: 0, lease: .seconds(90),
            since: UnixTime(1))
        for text in ["", "a\nb", "a\u{202E}b", String(repeating: "x", count: 1_025)] {
            presence.metadata = text
            let written = MessageCodec.encode(presence)
            #expect(!String(decoding: written, as: UTF8.self).contains("metadata"))
            #expect(try MessageCodec.decodePresence(written).metadata == nil)
        }
    }

    @Test(arguments: ["type", "session", "connection", "lease", "since"])
    func aPresenceNeeds(name: String) {
        let text = #"{"type":"SUBSCRIBER","session":"s","connection":0,"lease":90,"since":1}"#.replacing(
            name, with: "x")
        expectRefused("\(name) is missing") { () throws(TrackingError) in try MessageCodec.decodePresence(text.payload)
        }
    }

    @Test(arguments: [
        ("{}", "status is missing"),
        (#"{"status":"gone"}"#, #"status must be "online" or "offline"; found another string"#),
        (#"{"status":"online","session":"s","connection":0}"#, "lease is missing"),
        (#"{"status":"offline","connection":0}"#, "session is missing"),
        (#"{"status":"offline","session":"s"}"#, "connection is missing"),
        ("[]", "the payload must be an object; found an array"),
        ("", "the text is not JSON: expected a value at byte 0"),
    ])
    func refusesABadLiveness(text: String, message: String) {
        expectRefused(message) { () throws(TrackingError) in try MessageCodec.decodeLiveness(text.payload) }
    }

    @Test(arguments: [
        ("null", "resolution is missing"),
        ("[]", "resolution must be an object; found an array"),
        ("{}", "resolution.accuracy is missing"),
        (
            #"{"accuracy":"FINE","desiredInterval":1,"minimumDisplacement":1}"#,
            "resolution.accuracy must be one of MINIMUM, LOW, BALANCED, HIGH, MAXIMUM; found another string"
        ),
        (
            #"{"accuracy":"LOW","desiredInterval":-1,"minimumDisplacement":1}"#,
            "resolution.desiredInterval must be milliseconds, from 0 to 365 days; found a number out of range"
        ),
        (
            #"{"accuracy":"LOW","desiredInterval":31536000001,"minimumDisplacement":1}"#,
            "resolution.desiredInterval must be milliseconds, from 0 to 365 days; found a number out of range"
        ),
        (
            #"{"accuracy":"LOW","desiredInterval":1,"minimumDisplacement":"1"}"#,
            "resolution.minimumDisplacement must be a number of 0 or more; found a string"
        ),
    ])
    func refusesABadResolution(resolution: String, message: String) {
        let request = #"{"session":"s","resolution":\#(resolution)}"#
        expectRefused(message) { () throws(TrackingError) in try MessageCodec.decodeRequest(request.payload) }
        let inForce = #"{"resolution":\#(resolution)}"#
        expectRefused(message) { () throws(TrackingError) in try MessageCodec.decodeResolution(inForce.payload) }
    }

    @Test func intervalsAreTruncatedToWholeUnits() throws {
        let text = #"{"session":"s","resolution":{"accuracy":"LOW","desiredInterval":999.9,"minimumDisplacement":0.5}}"#
        #expect(try MessageCodec.decodeRequest(text.payload).resolution.desiredInterval == .milliseconds(999))
        let liveness = #"{"status":"online","session":"s","connection":0,"lease":90.9}"#
        #expect(try MessageCodec.decodeLiveness(liveness.payload).status == .online(lease: .seconds(90)))
    }

    @Test func keepsADetailWhole() throws {
        let text = #"""
            {"id":"i","stream":"s","seq":1,"time":2,"kind":"NEW_KIND",
             "detail":{"a":"x","b":1.5,"c":false,"d":null,"e":[1],"f":{"g":1}},"location":null}
            """#
        let event = try MessageCodec.decodeEvent(text.payload)
        #expect(event.kind == TrackingEvent.Kind(rawValue: "NEW_KIND"))
        #expect(
            event.detail == [
                "a": .text("x"), "b": .number(1.5), "c": .flag(false), "e": .list([.number(1)]),
                "f": .object(["g": .number(1)]),
            ])
        #expect(event.location == nil)
    }

    @Test(arguments: [
        (#""id":"""#, "id must be a string of 1 to 64 bytes; found another string"),
        (#""seq":0"#, "seq must be a whole number from 1 to 9007199254740991; found another number"),
        (#""kind":4"#, "kind must be a string; found a number"),
        (#""detail":[]"#, "detail must be an object; found an array"),
        (#""location":[]"#, "location must be an object; found an array"),
        (
            #""location":{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"speed":""}}"#,
            "location.properties.speed must be a number of 0 or more; found a string"
        ),
    ])
    func refusesABadEvent(member: String, message: String) {
        let text = #"{"id":"i","stream":"s","seq":1,"time":2,"kind":"K",\#(member)}"#
        expectRefused(message) { () throws(TrackingError) in try MessageCodec.decodeEvent(text.payload) }
    }

    @Test func leasesAreWrittenInRange() throws {
        for (lease, written) in [(Duration.milliseconds(200), 1), (.seconds(90.5), 90), (.seconds(1_000_000), 86_400)] {
            let liveness = Liveness(status: .online(lease: lease), session: SessionID("s")!, connection: 0)
            #expect(
                try MessageCodec.decodeLiveness(MessageCodec.encode(liveness)).status
                    == .online(lease: .seconds(written)))
        }
    }
}

extension WireGenerator {
    mutating func session() -> SessionID { SessionID.random(using: &self) }

    mutating func presence() -> Presence {
        Presence(
            kind: self.pick(MemberKind.allCases), session: self.session(),
            connection: Int.random(in: 0...1_000_000, using: &self),
            lease: .seconds(Int.random(in: 1...86_400, using: &self)), since: UnixTime(self.number(0...2e9)),
            stream: self.maybe { StreamID.random(using: &$0) }, rawLocations: self.maybe { $0.chance(0.5) },
            metadata: self.maybe { $0.chance(0.5) ? "van \"7\" of Ö" : String(repeating: "é", count: 512) },
            sendsResolution: self.maybe { $0.chance(0.5) })
    }

    mutating func liveness() -> Liveness {
        let isOffline = self.chance(0.5)
        let seconds = Duration.seconds(Int.random(in: 1...86_400, using: &self))
        return Liveness(
            status: isOffline ? .offline : .online(lease: seconds), session: self.session(),
            connection: Int.random(in: 0...9, using: &self),
            remainsPresentFor: isOffline ? self.maybe { _ in seconds } : nil)
    }

    mutating func resolution() -> Resolution {
        try! Resolution(  // in range
            accuracy: self.pick(Resolution.Accuracy.allCases),
            desiredInterval: .milliseconds(Int.random(in: 0...31_536_000_000, using: &self)),
            minimumDisplacement: Meters(self.number(0...10_000)))
    }

    mutating func resolutionInForce() -> ResolutionInForce {
        ResolutionInForce(
            resolution: self.resolution(), isNear: self.chance(0.5),
            subscribers: Int.random(in: 0...10_000, using: &self), isLowBattery: self.chance(0.5),
            state: self.pick(PublisherState.allCases), filter: self.pick(FilterRule.allCases),
            maximumSilence: .milliseconds(Int.random(in: 0...1_000_000_000, using: &self)),
            approach: self.maybe { $0.approach() })
    }

    mutating func approach() -> Approach {
        Approach(
            destination: self.location().coordinate, distance: self.maybe { Meters($0.number(0...1e7)) },
            timeToArrival: self.maybe { .seconds(Int.random(in: 0...1_000_000, using: &$0)) })
    }

    mutating func event() -> TrackingEvent {
        var detail: [String: TrackingEvent.DetailValue] = [:]
        for _ in 0..<Int.random(in: 0...4, using: &self) {
            detail[self.text(upTo: 12)] = self.pick([
                .text(self.text(upTo: 30)), .number(self.number(-1e6...1e6)), .flag(true),
            ])
        }
        return TrackingEvent(
            id: "e\(self.next())", stream: StreamID.random(using: &self),
            seq: UInt64.random(in: 1...WireLimits.maximumInteger, using: &self), time: UnixTime(self.number(0...2e9)),
            kind: self.pick([.lowBattery, .clockJump, .collision, .sourceLost]), detail: detail,
            location: self.maybe { $0.location() })
    }
}
